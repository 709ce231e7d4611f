package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/proof/mutant"
)

// mutantOptions of a run over flaws.
type mutantOptions struct {
	protocol string
	only     string
	workers  int
	learn    string
	json     bool
}

func mutantsCommand() *cobra.Command {
	var o mutantOptions
	c := &cobra.Command{
		Use:   "mutants",
		Short: "put known flaws into the code, one at a time, and see whether they are noticed",
		Long: "Builds this program with every known flaw of the value, the protocol and the supervisor in it, starts it with one flaw after the other\n" +
			"switched on, and lets the checker and the simulator look for it, or a story: a test of a package that is named for the flaw.\n" +
			"A run tries every flaw; a flaw that was not tried is a failure.\n" +
			"Needs the Go toolchain and the source, in whose directory it must be started.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "replica",
		"the protocol whose flaws are put in; the value and the supervisor are tried with replica")
	f.StringVar(&o.only, "only", "", "the name of one flaw")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "flaws at once")
	f.StringVar(&o.learn, "learn", "",
		"write where each flaw was found to this file, known.txt in rotasim/internal/mutants, for the next run to look there first")
	f.BoolVar(&o.json, "json", false, "end with one JSON object")
	return c
}

// mutantReport is the last line with --json.
type mutantReport struct {
	Mutants   int      `json:"mutants"` // that the run had to try
	Tried     int      `json:"tried"`
	Killed    int      `json:"killed"`
	Survivors []string `json:"survivors"`
	Moved     []string `json:"moved"` // noticed elsewhere than the last time
	Checker   int      `json:"by_checker"`
	Simulator int      `json:"by_simulator"`
	Story     int      `json:"by_story"`
	Seconds   float64  `json:"seconds"`
}

func (o mutantOptions) run(ctx context.Context, out io.Writer) error {
	if _, err := protocolOf(o.protocol); err != nil {
		return err
	}
	flaws := tableOf(o.protocol)
	if o.only != "" {
		flaws = slices.DeleteFunc(flaws, func(f mutant.Flaw) bool { return f.Name != o.only })
	}
	if len(flaws) == 0 {
		return fmt.Errorf("no flaw of %s is named %q: rotasim mutants prints the names", o.protocol, o.only)
	}
	began := time.Now()
	r := mutantReport{Mutants: len(flaws), Survivors: []string{}, Moved: []string{}}
	at := known()
	err := lookFor(ctx, o.protocol, flaws, o.workers, func(f outcome) {
		if r.add(out, f); f.args != "" {
			at[f.flaw] = f.args
		}
	})
	if o.learn != "" {
		err = errors.Join(err, learn(o.learn, at))
	}
	r.Seconds = time.Since(began).Seconds()
	fmt.Fprintf(out, "%d of %d flaws were noticed, %d by the checker, %d by the simulator and %d by a story, in %.0f s\n",
		r.Killed, r.Mutants, r.Checker, r.Simulator, r.Story, r.Seconds)
	if len(r.Moved) > 0 {
		fmt.Fprintf(out, "%d were not noticed where they were the last time: --learn rotasim/internal/mutants/known.txt saves the next run that search\n", len(r.Moved))
	}
	if o.json {
		printJSON(out, r)
	}
	return errors.Join(err, r.failure())
}

// failure is an error unless every flaw was tried and noticed.
func (r *mutantReport) failure() error {
	switch {
	case len(r.Survivors) > 0:
		return fmt.Errorf("%d flaws were not noticed", len(r.Survivors))
	case r.Tried < r.Mutants:
		return fmt.Errorf("%d of %d flaws were tried", r.Tried, r.Mutants)
	}
	return nil
}

func (r *mutantReport) add(out io.Writer, f outcome) {
	r.Tried++
	switch f.layer {
	case "":
		r.Survivors = append(r.Survivors, f.flaw)
		fmt.Fprintf(out, "SURVIVED %6.1fs  %s\n", f.seconds, f.flaw)
		return
	case checker:
		r.Checker++
	case simulator:
		r.Simulator++
	case story:
		r.Story++
	}
	r.Killed++
	if f.moved {
		r.Moved = append(r.Moved, f.flaw)
	}
	fmt.Fprintf(out, "%-9s %6.1fs  %s: %.160s\n", f.layer, f.seconds, f.flaw, f.proof)
}

// outcome is what came of one flaw.
type outcome struct {
	flaw    string
	layer   string // that noticed it; "" when it survived
	proof   string // what it printed
	moved   bool   // it was noticed elsewhere than known says
	seconds float64
	args    string // what to look with at once the next time; a story is in the table
}

// lookFor puts one flaw after the other into the value, the protocol and the supervisor's decisions, several at once,
// and lets the checker and the simulator look for it. Each must be found: one that survives is a promise that nobody
// checks. It calls add in the order of the flaws, and leaves none out.
func lookFor(ctx context.Context, protocol string, flaws []mutant.Flaw, workers int, add func(outcome)) error {
	dir, err := os.MkdirTemp("", "rota-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the directory for temporary files
	p, err := build(ctx, protocol, dir)
	if err != nil {
		return err
	}
	looks, free := make([]func() (outcome, error), len(flaws)), make(chan struct{}, max(1, workers))
	for i, f := range flaws {
		looks[i] = sync.OnceValues(func() (outcome, error) { return p.look(ctx, f.Name) })
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
			add(out)
		}
	}
	return errors.Join(errs...)
}

// look puts the program with a flaw through the layers until one notices it.
func (p *program) look(ctx context.Context, name string) (outcome, error) {
	began := time.Now()
	environ, err := p.flaws.Environ(name)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{flaw: name}
	all := layers(p.protocol)
	args := known()[name]
	told, ok := stories()[name]
	switch {
	case ok:
		all = []layer{told}
	case args != "":
		all = slices.Insert(all, 0, layerOf(args))
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
			if out.layer, out.proof = l.name, proof; !ok {
				out.args, out.moved = strings.Join(found.args, " "), strings.Join(l.args, " ") != args
			}
			break
		}
	}
	out.seconds = time.Since(began).Seconds()
	return out, nil
}

// program is rotasim with every flaw of the table in it. Its environment chooses one, or none.
type program struct {
	protocol string
	flaws    mutant.Set
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
	root, err := mutant.Root(ctx)
	if err != nil {
		return nil, err
	}
	p := &program{protocol: protocol, flaws: tableOf(protocol), root: root, dir: dir,
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
