// Command mutation plants faults in packages, one at a time, and counts those that the tests of the package notice.
//
//	mutation [--sample 150] [--seed 1] [--workers 2] [--aim 75] [--also ./internal/node,.] ./lock ./call
//	mutation --by-hand [area ...]
//
// # Purpose
//
// The faults are those of place.go: an operator is another one, a statement is missing, a condition always or never
// holds, an error is swallowed, true is false. All of a package go into one program of its tests, which takes one at
// its start: nothing is compiled for a single fault. Each is tried with the tests alone that reach its place, the
// fastest first. With --sample so many of a package are tried, which the seed chooses. With --also the tests of other
// packages are asked about what was missed.
//
// The output is one JSON line for each package, then the faults that no test noticed. In it, mutants are all that can
// be planted in functions; refused are those that the compiler refuses, which nobody has to notice; equivalent are
// those of equivalent.txt, which change nothing that a user or a caller could see; tried are the others, or the sample
// of them; unreached are missed ones whose place no test runs; percent is noticed of tried.
//
// With --by-hand the faults are those of the lists in by-hand, which a good engineer could make: one JSON line for each
// area, then what nobody noticed. Each is tried with all tests of the packages that its list names. An area must have
// 90 % noticed. The log on stderr says which test has noticed what.
//
// # What is not guaranteed
//
// Without --also only the tests of the package itself are run, not those of its users. Faults in constants and in
// variables of packages are not planted, nor those in a function that declares its named result again. A fault that
// makes tests hang is noticed by their time limit.
//
// Exit codes: 0 each package reached the aim, 1 one did not, or could not be tried, 2 usage. A run that is interrupted
// prints what it has tried so far, which is a smaller sample if it was a sample, and ends with 1.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/rota-run/rota/internal/proof/mutant"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	sample       int
	seed         uint64
	workers, aim int
	byHand       bool
	also         []string
}

func run(ctx context.Context, args []string, out io.Writer) int {
	var o options
	f := flag.NewFlagSet("mutation", flag.ContinueOnError)
	f.IntVar(&o.sample, "sample", 0, "how many faults of each package to try (0: all)")
	f.Uint64Var(&o.seed, "seed", 1, "choice of the sample")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "faults that are tried at a time")
	f.IntVar(&o.aim, "aim", 75, "percent that must be noticed")
	f.BoolVar(&o.byHand, "by-hand", false, "try the faults of the lists, of all areas or of those that are named")
	f.Func("also", "packages whose tests are asked about what is missed, with commas between", func(s string) error {
		o.also = strings.Split(s, ",")
		return nil
	})
	if err := f.Parse(args); err != nil {
		return 2
	}
	if o.byHand {
		return runByHand(ctx, f.Args(), out)
	}
	code := 0
	for _, pkg := range f.Args() {
		if ctx.Err() != nil {
			return 1
		}
		r, err := play(ctx, o, pkg)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutation: %s: %v\n", pkg, err)
			code = 1
			continue
		}
		r.print(out)
		if r.Percent < o.aim || r.Untried > 0 {
			code = 1
		}
	}
	return code
}

// report is what became of the faults of a package.
type report struct {
	Package    string `json:"package"`
	Mutants    int    `json:"mutants"`
	Refused    int    `json:"refused"`
	Equivalent int    `json:"equivalent"`
	Tried      int    `json:"tried"`
	Noticed    int    `json:"noticed"`
	Missed     int    `json:"missed"`
	Unreached  int    `json:"unreached"`
	Untried    int    `json:"untried,omitempty"` // the run was interrupted
	Percent    int    `json:"percent"`
	Sample     int    `json:"sample,omitempty"` // 0: all were tried
	Seed       uint64 `json:"seed,omitempty"`
	Seconds    int    `json:"seconds"`
	survivors  []string
}

func (r *report) print(out io.Writer) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and words
	}
	fmt.Fprintf(out, "%s\n", b)
	for _, s := range r.survivors {
		fmt.Fprintf(out, "  %s\n", s)
	}
}

// count adds what became of a fault.
func (r *report) count(f fault, what fate) {
	switch what {
	case noticed:
		r.Noticed++
	case missed:
		r.Missed++
		r.survivors = append(r.survivors, f.String())
	case unreached:
		r.Missed++
		r.Unreached++
		r.survivors = append(r.survivors, f.String()+" unreached")
	case untried:
		r.Untried++
		return
	}
	r.Tried++
}

// runByHand tries the lists of some areas, or of all.
func runByHand(ctx context.Context, names []string, out io.Writer) int {
	if len(names) == 0 {
		names = areas()
	}
	code := 0
	for _, area := range names {
		r, err := playByHand(ctx, area, os.Stderr)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutation: %s: %v\n", area, err)
			code = 1
			continue
		}
		r.print(out)
		if r.Percent < handAim {
			code = 1
		}
	}
	return code
}

// play tries the faults of one package.
func play(ctx context.Context, o options, pkg string) (*report, error) {
	root, err := mutant.Root(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	b := &bench{root: root, dir: dir, pkg: pkg, of: pkg, blocks: make(map[block]bool)}
	return b.play(ctx, o)
}
