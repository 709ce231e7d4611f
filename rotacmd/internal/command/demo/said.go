package demo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// said is the last line of a member's log, for the error that it has ended.
func (p *Play) said(name string) string {
	log := filepath.Join(p.dir, name+".log")
	b, err := os.ReadFile(log)
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return log + " is empty"
	}
	return fmt.Sprintf("%s ends with %q", log, b[bytes.LastIndexByte(b, '\n')+1:])
}
