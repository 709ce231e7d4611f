package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

// Found is what came of one flaw.
type Found struct {
	Flaw    string
	Layer   string // that noticed it; "" when it survived
	Proof   string // what it printed
	Moved   bool   // it was noticed elsewhere than known says
	Seconds float64
	Args    []string // what to look with at once the next time; a story is in the table
}

// Run looks for each flaw, several at once, and calls found in the order of the flaws. It leaves none out.
func Run(ctx context.Context, protocol string, flaws []flaw.Flaw, workers int, found func(Found)) error {
	dir, err := os.MkdirTemp("", "rota-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the directory for temporary files
	p, err := build(ctx, protocol, dir)
	if err != nil {
		return err
	}
	results := make([]chan func() (Found, error), len(flaws))
	next := make(chan int)
	var g sync.WaitGroup
	for i := range results {
		results[i] = make(chan func() (Found, error), 1)
	}
	for range max(1, workers) {
		g.Go(func() {
			for i := range next {
				f, err := p.look(ctx, flaws[i].Name)
				results[i] <- func() (Found, error) { return f, err }
			}
		})
	}
	g.Go(func() {
		defer close(next)
		for i := range flaws {
			next <- i
		}
	})
	var errs []error
	for i := range flaws {
		f, err := (<-results[i])()
		if err != nil {
			errs = append(errs, fmt.Errorf("mutant %q: %w", flaws[i].Name, err))
			continue
		}
		found(f)
	}
	g.Wait()
	return errors.Join(errs...)
}

// look puts the program with a flaw through the layers until one notices it.
func (p *program) look(ctx context.Context, name string) (Found, error) {
	began := time.Now()
	environ, err := p.flaws.Environ(name)
	if err != nil {
		return Found{}, err
	}
	out := Found{Flaw: name}
	all := layers(p.protocol)
	args := knownOf(p.protocol)[name]
	told, ok := stories()[name]
	switch {
	case ok:
		all = []layer{told.layer()}
	case args != "":
		all = slices.Insert(all, 0, parse(args))
	}
	for _, l := range all {
		proof, err := p.try(ctx, l, environ)
		if err != nil {
			return out, err
		}
		if proof != "" {
			found := l.at(proof)
			if err := p.passes(ctx, found); err != nil {
				return out, err
			}
			out.Layer, out.Proof = l.name, proof
			if !ok {
				out.Args, out.Moved = found.args, strings.Join(l.args, " ") != args
			}
			break
		}
	}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}
