package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

// File appends records to a file, one JSON object per line. It opens the file for each Append, so that it may be renamed at any time.
type File struct {
	path string
	mu   sync.Mutex
}

var _ Appender = (*File)(nil)

// NewFile returns an appender to the file at path. It is made (mode 0640) if it does not exist.
func NewFile(path string) (*File, error) {
	f := &File{path: path}
	return f, f.write(nil)
}

// Append implements Appender. After an error the file may end with a part of a line.
func (f *File) Append(_ context.Context, records ...Record) error {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("encode a record of the journal: %w", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(lines.Bytes())
}

func (f *File) write(lines []byte) error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640) //nolint:gosec // the user names the file, and its group may read it
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	_, err = file.Write(lines)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}
