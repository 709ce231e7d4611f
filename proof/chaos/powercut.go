package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rota-run/rota/proof/chaos/internal/powercut"
)

// writerCommand is how this program starts itself as a process that writes.
const writerCommand = "powercut-writer"

// playPowercut plays package powercut.
func playPowercut(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("rotachaos powercut", flag.ContinueOnError)
	f.SetOutput(stderr)
	var o powercut.Options
	f.IntVar(&o.Cuts, "cuts", 50, "how often the power is cut")
	f.Uint64Var(&o.Seed, "seed", 1, "of when it is cut")
	f.StringVar(&o.Dir, "dir", "", "an empty or new directory for images and mount points; default a temporary one")
	asJSON := f.Bool("json", false, "the last line is the outcome as JSON; the rest goes to stderr")
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "rotachaos: unknown argument %q\ntry: rotachaos powercut --help\n", f.Arg(0))
		return flag.ErrHelp
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o.Self = []string{self, writerCommand}
	o.Out = people(stdout, stderr, *asJSON)
	r, err := powercut.Run(ctx, o)
	if err != nil {
		return err
	}
	if !r.Possible {
		fmt.Fprintf(stderr, "\nNOTHING WAS SHOWN: no file system's power can be cut on this machine: %q\n", r.NotDone)
	} else {
		fmt.Fprintf(o.Out, "%d cuts on %v, %d new stores: %d acknowledged, %d segments found, %d lost, %d faults · control without sync: %d of %d lost · not done: %q · %.1f s\n",
			r.Cuts, r.FS, r.Stores, r.Acked, r.Segments, r.Lost, len(r.Faults), r.Control.Lost, r.Control.Acked, r.NotDone, r.Seconds)
	}
	return tell(stdout, *asJSON, r, r.OK || !r.Possible)
}

// write is one process that writes until its disk is gone.
func write(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "this is for rotachaos powercut alone")
		return flag.ErrHelp
	}
	return powercut.Write(ctx, args[0], args[1], stdout)
}
