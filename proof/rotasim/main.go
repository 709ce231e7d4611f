// Rotasim runs simulated clusters: many seeds under faults, one seed as a readable trace, or every order of a few
// events.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine"
)

// errBroken says that a promise was broken: it was printed, and the exit code says so too.
var errBroken = errors.New("a promise was broken")

func main() {
	debug.SetGCPercent(400) // what is walked stays; see also seeds
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "rotasim:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := seedsCommand()
	root.SilenceErrors = true
	root.AddCommand(checkCommand(), mutantsCommand())
	return root
}

// options of a run over seeds.
type options struct {
	protocol string
	machine  *machine.Machine
	first    uint64
	seeds    uint64
	hours    float64
	workers  int
	again    uint64
	replay   string
	budget   time.Duration
	allPairs bool
	stop     bool
	whole    bool
	json     bool
}

func seedsCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "rotasim",
		Short: "run simulated clusters under faults and check every promise after every event",
		Args:  cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := protocolOf(o.protocol)
			if err != nil {
				return err
			}
			o.machine = p.Machine
			if o.replay != "" {
				return replay(cmd.OutOrStdout(), o)
			}
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "replica", "the protocol to run")
	f.Uint64Var(&o.first, "first", 0, "the first seed")
	f.Uint64Var(&o.seeds, "seeds", 200, "how many seeds at least: fewer are a failure")
	f.Float64Var(&o.hours, "hours", 1, "virtual hours under faults per seed")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "seeds at once")
	f.Uint64Var(&o.again, "again", 100, "run every so many-th seed twice and compare the digests; 0 for none")
	f.DurationVar(&o.budget, "budget", 0,
		"go on with further seeds until this time is over; it never leaves out one of --seeds")
	f.StringVar(&o.replay, "replay", "",
		"SEED[:EVENT]: print one run up to an event; a run that breaks a promise is shortened first")
	f.BoolVar(&o.whole, "whole", false, "with --replay: print all that events and effects say")
	f.BoolVar(&o.allPairs, "all-pairs", false, "fail when a fault never happened in a phase in which it can")
	f.BoolVar(&o.stop, "stop", false, "begin no further seeds after a violation")
	f.BoolVar(&o.json, "json", false, "one JSON object on the last line")
	return c
}

func (o options) config(seed uint64) sim.Config {
	return sim.Config{Machine: o.machine, Seed: seed, Duration: time.Duration(o.hours * float64(time.Hour)),
		Whole: o.whole}
}

// run runs the seeds and prints what they showed.
func (o options) run(ctx context.Context, out io.Writer) error {
	debug.SetGCPercent(1600) // worlds are small and make much garbage
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &totals{options: o, sum: sim.Result{Faults: map[machine.Pair]int{}}}
	seeds := make(chan uint64)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, o.workers) {
		wg.Go(func() {
			for seed := range seeds {
				start := time.Now()
				r := sim.Run(o.config(seed))
				took := time.Since(start)
				same := o.again == 0 || seed%o.again != 0 || sim.Run(o.config(seed)).Digest == r.Digest
				mu.Lock()
				t.add(r, took, same)
				if r.Violation != nil {
					fmt.Fprintln(out, "VIOLATION", r.Violation)
					if o.stop {
						cancel()
					}
				}
				mu.Unlock()
			}
		})
	}
	o.feed(ctx, seeds, began)
	wg.Wait()
	t.wall = time.Since(began)
	t.print(out)
	return t.failure()
}

// feed hands out the seeds: those that must be run, and further ones while the budget lasts.
func (o options) feed(ctx context.Context, seeds chan<- uint64, began time.Time) {
	defer close(seeds)
	for seed := o.first; seed-o.first < o.seeds || time.Since(began) < o.budget; seed++ {
		select {
		case seeds <- seed:
		case <-ctx.Done():
			return
		}
	}
}

// replay prints one run.
func replay(out io.Writer, o options) error {
	text, event, upTo := strings.Cut(o.replay, ":")
	seed, err := strconv.ParseUint(text, 10, 64)
	c := o.config(seed)
	if upTo && err == nil {
		c.TraceTo, err = strconv.ParseUint(event, 10, 64)
	}
	if err != nil {
		return fmt.Errorf("replay %q: want SEED or SEED:EVENT", o.replay)
	}
	w := bufio.NewWriter(out)
	broken := show(w, c, !upTo)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the trace: %w", err)
	}
	if broken {
		return errBroken
	}
	return nil
}

// show prints the trace of a run, of its shortest form if shorten is set, and reports whether a promise was broken.
func show(w io.Writer, c sim.Config, shorten bool) bool {
	if shorten {
		if short, r := sim.Shrink(c, 300); r.Violation != nil {
			fmt.Fprintf(w, "%s\nshortened to %d faults:\n", r.Violation, len(short.Script))
			for _, f := range short.Script {
				fmt.Fprintf(w, "  %12s %s %s\n", time.Duration(f.At).Round(time.Millisecond), f.Kind, f.Phase)
			}
			c = short
		}
	}
	c.Trace = w
	r := sim.Run(c)
	if r.Violation != nil {
		fmt.Fprintln(w, "VIOLATION", r.Violation)
	}
	return r.Violation != nil
}

// printJSON prints one object on one line.
func printJSON(w io.Writer, v any) {
	line, err := json.Marshal(v)
	if err != nil { // strings and numbers always can
		panic(err)
	}
	fmt.Fprintf(w, "%s\n", line)
}

// totals add up what seeds showed. What they print does not depend on the order in which seeds ended.
type totals struct {
	options
	ran      uint64 // seeds
	wall     time.Duration
	sum      sim.Result // of all; the overlap is the longest
	gap      sim.Result // whose gap is nearest to its bound
	recovery sim.Result
	slowest  time.Duration
	slowSeed uint64
	digest   uint64   // of the seeds that must be run, whatever others the budget allowed
	differ   []uint64 // seeds that did not repeat
	broken   []string // promises
}

func (t *totals) add(r sim.Result, took time.Duration, same bool) {
	t.ran++
	t.sum.Duration += r.Duration
	t.sum.Events += r.Events
	t.sum.Entries += r.Entries
	t.sum.Moves += r.Moves
	t.sum.Refused += r.Refused
	t.sum.Overlap = max(t.sum.Overlap, r.Overlap)
	if r.Seed-t.first < t.seeds {
		t.digest += (r.Digest ^ r.Seed) * 0x9E3779B97F4A7C15
	}
	for p, n := range r.Faults {
		t.sum.Faults[p] += n
	}
	if r.Gap.Nearer(t.gap.Gap) {
		t.gap = r
	}
	if r.Recovery.Nearer(t.recovery.Recovery) {
		t.recovery = r
	}
	if took > t.slowest {
		t.slowest, t.slowSeed = took, r.Seed
	}
	if !same {
		t.differ = append(t.differ, r.Seed)
	}
	if r.Violation != nil {
		t.broken = append(t.broken, r.Violation.Error())
	}
}

func (t *totals) unreached() []string {
	out := []string{}
	for _, p := range t.machine.Pairs() {
		if t.sum.Faults[p] == 0 {
			out = append(out, fmt.Sprintf("%s in %s", p.Kind, p.Phase))
		}
	}
	return out
}

// failure is an error when a promise was broken, a seed did not repeat, too few seeds were run, or, if all pairs are
// asked for, one is missing.
func (t *totals) failure() error {
	switch missing := len(t.unreached()); {
	case len(t.broken) > 0:
		return errBroken
	case len(t.differ) > 0:
		return errors.New("a seed gave another digest the second time")
	case t.ran < t.seeds:
		return fmt.Errorf("%d of %d seeds were run", t.ran, t.seeds)
	case t.allPairs && missing > 0:
		return fmt.Errorf("%d pairs of fault and phase were never reached", missing)
	}
	return nil
}

func (t *totals) print(out io.Writer) {
	s, faults, kinds := &t.sum, 0, map[machine.Kind]int{}
	for p, n := range s.Faults { // order-free: sums
		faults += n
		kinds[p.Kind] += n
	}
	fmt.Fprintf(out, "%d seeds, %.1f cluster-hours in %s (%.1f per second), %d events, %d entries, %d moves\n",
		t.ran, s.Duration.Hours(), t.wall.Round(time.Millisecond), s.Duration.Hours()/t.wall.Seconds(), s.Events,
		s.Entries, s.Moves)
	fmt.Fprintf(out, "%d faults of %d kinds:\n", faults, len(kinds))
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(out, "  %-16s %8d\n", k, kinds[k])
	}
	pairs, unreached := len(t.machine.Pairs()), t.unreached()
	fmt.Fprintf(out, "%d of %d pairs of fault and phase reached", pairs-len(unreached), pairs)
	for _, u := range unreached {
		fmt.Fprintf(out, "\n  never: %s", u)
	}
	fmt.Fprintf(out, "\nnearest to its bound: without an owner for %s (seed %d, TTL %s, %s), recovered after %s (seed %d)\n",
		t.gap.Gap, t.gap.Seed, t.gap.TTL, t.gap.Mode, t.recovery.Recovery, t.recovery.Seed)
	fmt.Fprintf(out, "longest excused overlap %s (the former owner was suspended or ignored its cancel), %d effects refused by their token\n",
		s.Overlap.Round(time.Millisecond), s.Refused)
	digest := fmt.Sprintf("%016x", t.digest)
	fmt.Fprintf(out, "slowest seed %d: %s; digest %s\n", t.slowSeed, t.slowest.Round(time.Millisecond), digest)
	if len(t.differ) > 0 {
		fmt.Fprintf(out, "NOT REPEATED: seeds %v gave another digest the second time\n", t.differ)
	}
	fmt.Fprintf(out, "%d violations\n", len(t.broken))
	if t.json {
		slices.Sort(t.broken)
		printJSON(out, map[string]any{
			"protocol": t.machine.Name, "least_seeds": t.seeds, "seeds": t.ran, "cluster_hours": s.Duration.Hours(),
			"events": s.Events, "faults": faults, "fault_kinds": len(kinds), "unreached": unreached,
			"violations": append([]string{}, t.broken...), "longest_gap_ms": t.gap.Gap.Took.Milliseconds(),
			"gap_bound_ms": t.gap.Gap.Bound.Milliseconds(), "longest_overlap_ms": s.Overlap.Milliseconds(),
			"digest": digest,
		})
	}
}
