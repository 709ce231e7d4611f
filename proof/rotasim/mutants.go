package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/proof/mutant"
	"github.com/rota-run/rota/proof/rotasim/internal/mutants"
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
	flaws := mutants.Table(o.protocol)
	if o.only != "" {
		flaws = slices.DeleteFunc(flaws, func(f mutant.Flaw) bool { return f.Name != o.only })
	}
	if len(flaws) == 0 {
		return fmt.Errorf("no flaw of %s is named %q: rotasim mutants prints the names", o.protocol, o.only)
	}
	began := time.Now()
	r := mutantReport{Mutants: len(flaws), Survivors: []string{}, Moved: []string{}}
	var all []mutants.Found
	err := mutants.Run(ctx, o.protocol, flaws, o.workers, func(f mutants.Found) {
		r.add(out, f)
		all = append(all, f)
	})
	if o.learn != "" {
		err = errors.Join(err, mutants.Learn(o.learn, all))
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

func (r *mutantReport) add(out io.Writer, f mutants.Found) {
	r.Tried++
	switch f.Layer {
	case "":
		r.Survivors = append(r.Survivors, f.Flaw)
		fmt.Fprintf(out, "SURVIVED %6.1fs  %s\n", f.Seconds, f.Flaw)
		return
	case mutants.Checker:
		r.Checker++
	case mutants.Simulator:
		r.Simulator++
	case mutants.Story:
		r.Story++
	}
	r.Killed++
	if f.Moved {
		r.Moved = append(r.Moved, f.Flaw)
	}
	fmt.Fprintf(out, "%-9s %6.1fs  %s: %.160s\n", f.Layer, f.Seconds, f.Flaw, f.Proof)
}
