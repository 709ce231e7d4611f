// Package mutants puts one flaw after the other into the value, the protocol and the supervisor's decisions, and lets
// the checker and the simulator look for it. Each must be found: one that survives is a promise that nobody checks.
package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	looks, free := make([]func() (Found, error), len(flaws)), make(chan struct{}, max(1, workers))
	for i, f := range flaws {
		looks[i] = sync.OnceValues(func() (Found, error) { return p.look(ctx, f.Name) })
	}
	go func() {
		for _, look := range looks {
			free <- struct{}{}
			go func() {
				_, _ = look() // who waits for it below is told
				<-free
			}()
		}
	}()
	var errs []error
	for i, f := range flaws {
		if out, err := looks[i](); err != nil {
			errs = append(errs, fmt.Errorf("mutant %q: %w", f.Name, err))
		} else {
			found(out)
		}
	}
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
	args := known()[name]
	told, ok := stories()[name]
	switch {
	case ok:
		all = []layer{told}
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

// program is rotasim with every flaw of the table in it. Its environment chooses one, or none.
type program struct {
	protocol string
	flaws    flaw.Set
	root     string // of the source
	dir      string // of what is built
	path     string

	mu   sync.Mutex
	done map[string]func() (string, error) // what once has done
}

// once does something when it is first asked for by this name, and remembers what came of it.
func (p *program) once(name string, do func() (string, error)) (string, error) {
	p.mu.Lock()
	done, ok := p.done[name]
	if !ok {
		done = sync.OnceValues(do)
		p.done[name] = done
	}
	p.mu.Unlock()
	return done()
}

// build builds it in dir. Without a flaw it does what this program does.
func build(ctx context.Context, protocol, dir string) (*program, error) {
	root, err := flaw.Root(ctx)
	if err != nil {
		return nil, err
	}
	p := &program{protocol: protocol, flaws: Table(protocol), root: root, dir: dir,
		done: make(map[string]func() (string, error))}
	if p.path, err = p.flaws.Build(ctx, root, dir, "./proof/rotasim"); err != nil {
		return nil, err
	}
	this, err := os.Executable()
	if err != nil {
		return nil, err
	}
	want, err := p.digest(ctx, this, os.Environ())
	if err != nil {
		return nil, err
	}
	if got, err := p.digest(ctx, p.path, p.flaws.Sound()); got != want || err != nil {
		return nil, fmt.Errorf("the program with all flaws switched off runs seed 0 to digest %s, this one to %s: was this one built from the source in %s? %w", got, want, root, err)
	}
	return p, nil
}

// digest is the digest that a program prints for a seed.
func (p *program) digest(ctx context.Context, path string, environ []string) (string, error) {
	cmd := exec.CommandContext(ctx, path, "--protocol", p.protocol, "--seeds", "1", "--hours", "0.2", "--again", "0",
		"--json") //nolint:gosec // this program, or the one that it built
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run a seed without a flaw: %w: %s", err, out)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var r struct{ Digest string }
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		return "", fmt.Errorf("read the digest of a seed: %w", err)
	}
	return r.Digest, nil
}

// passes is an error where a layer finds something in the program without a flaw too: a bug of Rota, or a false alarm
// of the layer. Such a proof says nothing about a flaw.
func (p *program) passes(ctx context.Context, l layer) error {
	why, err := p.once(l.String(), func() (string, error) { return p.try(ctx, l, p.flaws.Sound()) })
	if err != nil {
		return fmt.Errorf("the program without a flaw: %w", err)
	}
	if why != "" {
		return fmt.Errorf("%s finds this without the flaw too: %s", l, why)
	}
	return nil
}
