package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/cmd/rotachaos/internal/chaos"
)

// Report is the outcome.
type Report struct {
	Mutants  int      `json:"mutants"`
	Killed   int      `json:"killed"`   // a violation of the promise that the flaw breaks was found
	Survived []string `json:"survived"` // the others
	NotDone  []string `json:"not_done"` // this machine cannot do the events that are needed
	Seconds  float64  `json:"seconds"`
	OK       bool     `json:"ok"`
}

// Run builds and plays every mutant of the module that the working directory is in. Out is for people.
func Run(ctx context.Context, seed uint64, out io.Writer) (Report, error) {
	began := time.Now()
	r := Report{Survived: []string{}, NotDone: []string{}}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return r, fmt.Errorf("find the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "rota-mutants-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the directory for temporary files
	for i, m := range table() {
		found, err := m.play(ctx, strings.TrimSpace(string(root)), filepath.Join(dir, fmt.Sprint(i)), seed)
		if err != nil {
			return r, fmt.Errorf("mutant %q: %w", m.name, err)
		}
		r.count(m, found)
		fmt.Fprintf(out, "%6.1fs  %s: %s\n", time.Since(began).Seconds(), m.name, found)
	}
	r.Seconds = float64(time.Since(began).Milliseconds()) / 1000
	r.OK = len(r.Survived) == 0
	return r, nil
}

// What came of a mutant, where it was not noticed.
const (
	survived = "SURVIVED"
	notDone  = "NOT DONE: its events cannot be done here"
)

func (r *Report) count(m mutant, found string) {
	switch found {
	case survived:
		r.Survived = append(r.Survived, m.name)
	case notDone:
		r.NotDone = append(r.NotDone, m.name)
		return
	default:
		r.Killed++
	}
	r.Mutants++
}

// play builds the binary with the flaw and plays; it returns the violation that shows it.
func (m mutant) play(ctx context.Context, root, dir string, seed uint64) (string, error) {
	binary, err := m.build(ctx, root, dir)
	if err != nil {
		return "", err
	}
	kept := filepath.Join(dir, "play")
	r, err := chaos.Run(ctx, chaos.Options{Events: m.events, Seed: seed, Binary: binary, Dir: kept, Only: m.only})
	if errors.Is(err, chaos.ErrNothing) {
		return notDone, nil
	}
	if err != nil {
		return "", err
	}
	for _, v := range r.Violations {
		if strings.HasPrefix(v, m.proof) {
			text, _, _ := strings.Cut(v, "\n")
			return fmt.Sprintf("%d violations, such as %s", len(r.Violations), text), nil
		}
	}
	return survived, nil
}

// build builds rota with one file replaced.
func (m mutant) build(ctx context.Context, root, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	path := filepath.Join(root, filepath.FromSlash(m.file))
	text, err := m.apply(path)
	if err != nil {
		return "", err
	}
	changed, overlay, binary := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "rota")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o640), os.WriteFile(overlay, table, 0o640)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./cmd/rota")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return binary, nil
}

// apply is the file with the flaw. A text that is not there exactly once is an error: the source has moved on.
func (m mutant) apply(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := string(b)
	for _, c := range m.changes {
		if n := strings.Count(text, c.old); n != 1 {
			return "", fmt.Errorf("%s has the text %q %d times: adapt the table", m.file, c.old, n)
		}
		text = strings.Replace(text, c.old, c.new, 1)
	}
	return text, nil
}
