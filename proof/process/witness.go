package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

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
