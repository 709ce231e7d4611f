// Package mutants shows that a run of chaos can fail: it builds the binary rota with one flaw after the other, and
// expects that each is noticed.
package mutants

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
	"github.com/rota-run/rota/proof/chaos/internal/chaos"
)

// mutant is a flaw and how it comes to light.
type mutant struct {
	flaw.Flaw
	events int
	only   []string // kinds of events that bring it to light
	proof  string   // what a violation must begin with; or it is that tasks have an owner for less than a share
	least  float64  // that share of the time in which they could have one; 0: it is a violation that shows the flaw
}

//go:embed flaws.txt
var flaws string

// table are the flaws.
func table() ([]mutant, error) {
	list, err := flaw.ParseList(flaws, "events", "proof")
	var out []mutant
	for _, f := range list {
		n, kinds, _ := strings.Cut(f.Notes["events"], " ")
		m := mutant{Flaw: f.Flaw, only: strings.Fields(kinds), proof: f.Notes["proof"]}
		m.events, err = strconv.Atoi(n)
		if least, ok := strings.CutPrefix(m.proof, "owned "); ok && err == nil {
			m.least, err = strconv.ParseFloat(least, 64)
		}
		if err != nil || len(m.only) == 0 || m.proof == "" {
			return nil, fmt.Errorf("flaws.txt: %s: it has no events or no proof: %w", f.Name, err)
		}
		out = append(out, m)
	}
	return out, err
}

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
	root, err := flaw.Root(ctx)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "rota-mutants-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the directory for temporary files
	all, err := table()
	if err != nil {
		return r, err
	}
	for i, m := range all {
		found, err := m.play(ctx, root, filepath.Join(dir, fmt.Sprint(i)), seed)
		if err != nil {
			return r, fmt.Errorf("mutant %q: %w", m.Name, err)
		}
		r.count(m, found)
		fmt.Fprintf(out, "%6.1fs  %s: %s\n", time.Since(began).Seconds(), m.Name, found)
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
		r.Survived = append(r.Survived, m.Name)
	case notDone:
		r.NotDone = append(r.NotDone, m.Name)
		return
	default:
		r.Killed++
	}
	r.Mutants++
}

// play builds the binary with the flaw and plays; it returns what shows it.
func (m mutant) play(ctx context.Context, root, dir string, seed uint64) (string, error) {
	binary, err := m.Build(ctx, root, dir, "./cmd/rota")
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
	if r.OwnedPossible < m.least {
		return fmt.Sprintf("tasks had an owner for %.3f of the time in which they could, and should for %.3f",
			r.OwnedPossible, m.least), nil
	}
	for _, v := range r.Violations {
		if strings.HasPrefix(v, m.proof) {
			text, _, _ := strings.Cut(v, "\n")
			return fmt.Sprintf("%d violations, such as %s", len(r.Violations), text), nil
		}
	}
	return survived, nil
}
