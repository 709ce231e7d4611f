package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/node"
)

// follower reads what one member's witness file gets.
type follower struct {
	path   string
	at     int64
	runs   map[string]uint64 // tokens by partition
	newest int64             // when the newest start was
}

func (f *follower) held() map[string]uint64 { return f.runs }

func (f *follower) read() error {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(f.at, io.SeekStart); err != nil {
		return err
	}
	if f.runs == nil {
		f.runs = make(map[string]uint64)
	}
	r := bufio.NewReader(file)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // the rest of a line comes later
		}
		f.at += int64(len(line))
		var l node.WitnessLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		switch l.Event {
		case "start":
			f.runs[l.Partition] = l.Token
			f.newest = max(f.newest, l.AtNS)
		case "stop":
			delete(f.runs, l.Partition)
		}
	}
}

// usage is what a process uses, in KB and time of processors.
type usage struct {
	now, peak int
	cpu       time.Duration
}

// usageOf reads what Linux says; zeros elsewhere.
func usageOf(pid int) (u usage) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "VmRSS:":
			u.now, _ = strconv.Atoi(fields[1])
		case "VmHWM:":
			u.peak, _ = strconv.Atoi(fields[1])
		}
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(stat), ") "); ok {
		if fields := strings.Fields(rest); len(fields) > 13 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			u.cpu = time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	return u
}
