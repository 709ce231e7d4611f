package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	flaw "github.com/rota-run/rota/internal/mutant"
)

// layer is one way to look for a flaw.
type layer struct {
	name string
	args []string
}

// at is the layer with the one seed that its proof names; a walk of the checker stays as it is.
func (l layer) at(proof string) layer {
	m := regexp.MustCompile(`in seed (\d+) at event`).FindStringSubmatch(proof)
	if l.name != simulator || m == nil {
		return l
	}
	out := layer{l.name, slices.Clone(l.args)}
	for i := 1; i < len(out.args); i++ {
		switch out.args[i-1] {
		case "--first":
			out.args[i] = m[1]
		case "--seeds":
			out.args[i] = "1"
		}
	}
	return out
}

// The names of the layers.
const (
	simulator = "simulator"
	checker   = "checker"
)

// layers are tried one after the other, the cheapest first. Their sum is less than what every change is put through.
func layers() []layer {
	check := func(args ...string) layer {
		return layer{checker, append([]string{"check", "--states", "100000"}, args...)}
	}
	sim := func(args ...string) layer {
		return layer{simulator, append([]string{"--stop", "--workers", "1"}, args...)}
	}
	return []layer{
		sim("--first", "0", "--seeds", "5", "--hours", "0.2", "--again", "0"),
		check("--members", "2", "--partitions", "2", "--crashes", "1", "--restarts", "1", "--leaves", "1"),
		check("--members", "3", "--partitions", "3", "--crashes", "1", "--handover", "no-gap"),
		check("--members", "3", "--crashes", "1", "--restarts", "1"),
		check("--members", "2", "--suspicions", "1", "--failures", "1"),
		sim("--first", "5", "--seeds", "45", "--hours", "0.2"),
		check("--members", "3", "--crashes", "1", "--duplicates", "1"),
		check("--members", "2", "--crashes", "1", "--suspicions", "1", "--duplicates", "1"),
		sim("--first", "50", "--seeds", "200", "--hours", "1"),
	}
}

// timeLimit of one layer: a program that does not end is noticed too.
const timeLimit = 20 * time.Minute

// Found is what came of one flaw.
type Found struct {
	Flaw    string
	Layer   string // that noticed it; "" when it survived
	Proof   string // what it printed
	Seconds float64
	Args    []string // what to look with at once the next time
}

// NotDone is the layer of a flaw that was not looked for: the time was over.
const NotDone = "not done"

// Run looks for each flaw, several at once, and calls found in the order of the table. It begins with none after end, unless that is zero.
func Run(ctx context.Context, flaws []flaw.Flaw, workers int, end time.Time, found func(Found)) error {
	root, err := flaw.Root(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rota-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the directory for temporary files
	clean, err := newSound(ctx, root, filepath.Join(dir, "sound"))
	if err != nil {
		return err
	}
	results := make([]chan Found, len(flaws))
	errs := make([]error, len(flaws))
	next := make(chan int)
	var g sync.WaitGroup
	for i := range results {
		results[i] = make(chan Found, 1)
	}
	for range max(1, workers) {
		g.Go(func() {
			for i := range next {
				f := Found{Flaw: flaws[i].Name, Layer: NotDone}
				if end.IsZero() || time.Now().Before(end) {
					f, errs[i] = look(ctx, clean, flaws[i], root, filepath.Join(dir, fmt.Sprint(i)))
				}
				results[i] <- f
			}
		})
	}
	g.Go(func() {
		defer close(next)
		for i := range flaws {
			next <- i
		}
	})
	for i := range flaws {
		if f := <-results[i]; errs[i] == nil {
			found(f)
		}
	}
	g.Wait()
	return errors.Join(errs...)
}

// look builds the program with the flaw and puts it through the layers until one notices.
func look(ctx context.Context, clean *sound, f flaw.Flaw, root, dir string) (Found, error) {
	began := time.Now()
	program, err := f.Build(ctx, root, dir, "./cmd/rotasim")
	if err != nil {
		return Found{}, fmt.Errorf("mutant %q: %w", f.Name, err)
	}
	defer func() { _ = os.Remove(program) }() // the directory goes anyway
	out := Found{Flaw: f.Name}
	all := layers()
	if args := known()[f.Name]; args != "" {
		all = slices.Insert(all, 0, parse(args))
	}
	for _, l := range all {
		proof, err := l.try(ctx, program)
		if err != nil {
			return out, fmt.Errorf("mutant %q: %w", f.Name, err)
		}
		if proof != "" {
			found := l.at(proof)
			if err := clean.passes(ctx, found); err != nil {
				return out, fmt.Errorf("mutant %q: %w", f.Name, err)
			}
			out.Layer, out.Proof, out.Args = l.name, proof, found.args
			break
		}
	}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}

// parse is the layer that known names.
func parse(args string) layer {
	l := layer{simulator, strings.Fields(args)}
	if l.args[0] == "check" {
		l.name = checker
	}
	return l
}

// try runs the program and returns what it noticed, "" for nothing.
func (l layer) try(ctx context.Context, program string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	var text bytes.Buffer
	cmd := exec.CommandContext(limited, program, l.args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "it does not end", nil
	case !errors.As(err, &exit):
		return "", err
	}
	return proof(text.String())
}

// proof is the line that says what was noticed.
func proof(text string) (string, error) {
	for line := range strings.Lines(text) {
		for _, sign := range []string{"VIOLATION ", "broken: ", "panic: "} {
			if rest, ok := strings.CutPrefix(line, sign); ok {
				return strings.TrimSpace(rest), nil
			}
		}
	}
	return "", fmt.Errorf("it failed and said: %s", text)
}
