package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cmd/rotasim/internal/mutants"
	"github.com/rota-run/rota/internal/mutant"
)

// mutantOptions of a run over flaws.
type mutantOptions struct {
	only    string
	workers int
	learn   string
	json    bool
}

func mutantsCommand() *cobra.Command {
	var o mutantOptions
	c := &cobra.Command{
		Use:   "mutants",
		Short: "put known flaws into the code, one at a time, and see whether they are noticed",
		Long: "Builds this program with one flaw after the other in the value, the protocol or the supervisor, and lets the checker and the simulator\n" +
			"look for it. Needs the Go toolchain and the source, in whose directory it must be started.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringVar(&o.only, "only", "", "the name of one flaw")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "flaws at once")
	f.StringVar(&o.learn, "learn", "", "write where each flaw was found to this Go file, cmd/rotasim/internal/mutants/known.go, for the next run to look there first")
	f.BoolVar(&o.json, "json", false, "end with one JSON object")
	return c
}

// mutantReport is the last line with --json.
type mutantReport struct {
	Mutants   int      `json:"mutants"`
	Killed    int      `json:"killed"`
	Survivors []string `json:"survivors"`
	NotDone   int      `json:"not_done"`
	Checker   int      `json:"by_checker"`
	Simulator int      `json:"by_simulator"`
	Seconds   float64  `json:"seconds"`
}

func (o mutantOptions) run(ctx context.Context, out io.Writer) error {
	flaws := mutants.Table()
	if o.only != "" {
		flaws = slices.DeleteFunc(flaws, func(f mutant.Flaw) bool { return f.Name != o.only })
	}
	if len(flaws) == 0 {
		return fmt.Errorf("no flaw is named %q: rotasim mutants prints the names", o.only)
	}
	began := time.Now()
	r := mutantReport{Mutants: len(flaws), Survivors: []string{}}
	var all []mutants.Found
	err := mutants.Run(ctx, flaws, o.workers, func(f mutants.Found) {
		r.add(out, f)
		all = append(all, f)
	})
	if err == nil && o.learn != "" {
		err = mutants.Learn(o.learn, all)
	}
	if err != nil {
		return err
	}
	r.Seconds = time.Since(began).Seconds()
	fmt.Fprintf(out, "%d of %d flaws were noticed, %d by the checker and %d by the simulator, in %.0f s; %d were not looked for\n",
		r.Killed, r.Mutants, r.Checker, r.Simulator, r.Seconds, r.NotDone)
	if o.json {
		printJSON(out, r)
	}
	if len(r.Survivors) > 0 {
		return errBroken
	}
	return nil
}

func (r *mutantReport) add(out io.Writer, f mutants.Found) {
	if f.Layer == "" {
		r.Survivors = append(r.Survivors, f.Flaw)
		fmt.Fprintf(out, "SURVIVED %6.1fs  %s\n", f.Seconds, f.Flaw)
		return
	}
	r.Killed++
	if f.Layer == "checker" {
		r.Checker++
	} else {
		r.Simulator++
	}
	fmt.Fprintf(out, "%-9s %6.1fs  %s: %.160s\n", f.Layer, f.Seconds, f.Flaw, f.Proof)
}
