package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/proof/mutant"
)

// bench is where the faults of one package are tried.
type bench struct {
	root, dir, pkg string     // pkg is the package of the tests
	of             string     // the package of the faults
	set            mutant.Set // what is planted
	program        string     // the tests with all faults
	flags          []string   // of each run of them
	tests          []test
	blocks         map[block]bool // all that the tests could reach
}

// play finds the faults, plants them, and tries them.
func (b *bench) play(ctx context.Context, o options) (*report, error) {
	began := time.Now()
	faults, err := find(ctx, b.root, b.pkg)
	if err != nil {
		return nil, err
	}
	r := &report{Package: b.pkg, Mutants: len(faults), Sample: o.sample}
	if faults, err = b.plant(ctx, faults); err != nil {
		return nil, err
	}
	r.Refused = r.Mutants - len(faults)
	if faults, err = without(faults, equivalents, path.Clean(b.pkg)); err != nil {
		return nil, err
	}
	r.Equivalent = r.Mutants - r.Refused - len(faults)
	if o.sample > 0 {
		faults, r.Seed = choose(faults, o.sample, o.seed), o.seed
	}
	if err := b.learn(ctx); err != nil {
		return nil, err
	}
	fates := b.tryAll(ctx, faults, o.workers)
	for _, pkg := range o.also {
		if err := b.ask(ctx, pkg, faults, fates, o.workers); err != nil {
			return nil, err
		}
	}
	for i, fate := range fates {
		r.count(faults[i], fate)
	}
	r.Percent, r.Seconds = 100, int(time.Since(began).Seconds())
	if r.Tried > 0 {
		r.Percent = 100 * r.Noticed / r.Tried
	}
	slices.Sort(r.survivors)
	return r, nil
}

// plant builds the tests with all faults that the compiler takes, and returns those.
func (b *bench) plant(ctx context.Context, faults []fault) ([]fault, error) {
	for _, f := range faults {
		b.set = append(b.set, f.flaw)
	}
	var err error
	if b.set, b.program, err = b.set.BuildViable(ctx, b.root, filepath.Join(b.dir, "planted"), b.pkg); err != nil {
		return nil, err
	}
	viable := make(map[string]bool, len(b.set))
	for _, f := range b.set {
		viable[f.Name] = true
	}
	return slices.DeleteFunc(faults, func(f fault) bool { return !viable[f.flaw.Name] }), nil
}

// choose takes n of the faults, the same ones in the same order for the same seed.
func choose(faults []fault, n int, seed uint64) []fault {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] }) //nolint:gosec // a sample
	return faults[:min(n, len(faults))]
}

// fate is what became of a fault.
type fate int

const (
	untried fate = iota // the run was interrupted before
	noticed
	missed
	unreached
)

// tryAll tries the faults, so many at a time, until ctx ends.
func (b *bench) tryAll(ctx context.Context, faults []fault, workers int) []fate {
	fates := make([]fate, len(faults))
	next := make(chan int)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range next {
				fates[i] = b.try(ctx, fmt.Sprint("worker", w), faults[i])
				if ctx.Err() != nil {
					fates[i] = untried
				}
			}
		})
	}
	for i := 0; i < len(faults) && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
	return fates
}

// ask tries what was missed with the tests of another package.
func (b *bench) ask(ctx context.Context, pkg string, faults []fault, fates []fate, workers int) error {
	var which []int
	var left []fault
	other := &bench{root: b.root, dir: filepath.Join(b.dir, strings.NewReplacer(".", "", "/", "").Replace(pkg)+"_"),
		pkg: pkg, of: b.pkg, blocks: make(map[block]bool)}
	for i, f := range faults {
		if fates[i] == missed || fates[i] == unreached {
			which, left, other.set = append(which, i), append(left, f), append(other.set, f.flaw)
		}
	}
	if len(left) == 0 {
		return nil
	}
	var err error
	other.program, err = other.set.BuildTests(ctx, b.root, filepath.Join(other.dir, "planted"), pkg)
	if err == nil {
		err = other.learn(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	for i, fate := range other.tryAll(ctx, left, workers) {
		if fate == noticed || fate == untried || fates[which[i]] == unreached {
			fates[which[i]] = fate
		}
	}
	return nil
}
