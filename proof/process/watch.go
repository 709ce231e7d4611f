package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/sim/history"
)

// Witness reads the file in which a member writes down its runs (rota run --witness). It is for one goroutine.
type Witness struct {
	Path        string
	Incarnation uint64 // of the records

	read int64 // bytes that were read
}

// Next returns what the member has written since the last call: none while there is no file. A line that is not yet complete is left for later.
func (w *Witness) Next() ([]history.Record, error) {
	f, err := os.Open(w.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a witness: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, w.read, 1<<30))
	if err != nil {
		return nil, fmt.Errorf("read a witness: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	records, _, err := history.ReadLines(data, w.Incarnation)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Path, err)
	}
	w.read += int64(len(data))
	return records, nil
}

// Usage is what a process uses: memory in KB, now and at most, and time of processors.
type Usage struct {
	Now, Peak int
	CPU       time.Duration
}

// UsageOf reads what Linux says; zeros elsewhere.
func UsageOf(pid int) (u Usage) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		switch f := strings.Fields(line); {
		case len(f) < 2:
		case f[0] == "VmRSS:":
			u.Now, _ = strconv.Atoi(f[1])
		case f[0] == "VmHWM:":
			u.Peak, _ = strconv.Atoi(f[1])
		}
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 13 {
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		u.CPU = time.Duration(user+system) * 10 * time.Millisecond
	}
	return u
}
