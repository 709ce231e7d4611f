package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rota-run/rota/internal/node"
)

// tasksWanted is how many tasks the demonstration has. Each writes down when it acts.
const tasksWanted = 12

// writeTasks fills the directory and returns the names of the tasks.
func writeTasks(dir, acts string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make tasks: %w", err)
	}
	text := fmt.Sprintf("# Writes down when it acts, under which token.\ntype: witness\nevery: 100ms\nconfig: {path: %q}\n", acts)
	var names []string
	for i := range tasksWanted {
		names = append(names, fmt.Sprintf("check-%d", i+1))
		if err := os.WriteFile(filepath.Join(dir, names[i]+".yaml"), []byte(text), 0o640); err != nil {
			return nil, fmt.Errorf("make tasks: %w", err)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (p *Play) witness(member string) string { return filepath.Join(p.dir, member+".witness") }

// readLines reads what all members wrote down so far.
func (p *Play) readLines() ([]node.WitnessLine, error) {
	var out []node.WitnessLine
	for _, file := range []string{p.witness("a"), p.witness("b"), p.witness("c"), p.acts()} {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read witness: %w", err)
		}
		for line := range bytes.Lines(data) {
			var l node.WitnessLine
			if !bytes.HasSuffix(line, []byte("\n")) {
				continue // being written
			}
			if err := json.Unmarshal(line, &l); err != nil {
				return nil, fmt.Errorf("read witness %s: %w", file, err)
			}
			out = append(out, l)
		}
	}
	return out, nil
}

func (p *Play) acts() string { return filepath.Join(p.dir, "acts") }

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
