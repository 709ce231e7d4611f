package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/rota-run/rota/proof/chaos/internal/mutants"
)

// playMutants plays package mutants.
func playMutants(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("rotachaos mutants", flag.ContinueOnError)
	f.SetOutput(stderr)
	seed := f.Uint64("seed", 1, "of the decks of events")
	asJSON := f.Bool("json", false, "the last line is the outcome as JSON; the rest goes to stderr")
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "rotachaos: unknown argument %q\ntry: rotachaos mutants --help\n", f.Arg(0))
		return flag.ErrHelp
	}
	out := people(stdout, stderr, *asJSON)
	r, err := mutants.Run(ctx, *seed, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d mutants, %d killed, survived: %q, not done: %q · %.1f s\n", r.Mutants, r.Killed, r.Survived, r.NotDone, r.Seconds)
	return tell(stdout, *asJSON, r, r.OK)
}
