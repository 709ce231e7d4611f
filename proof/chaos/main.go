// Command rotachaos plays chaos with real processes and real file systems, and judges what they wrote down.
//
//	rotachaos [--events 200] [--seed 1] [--json]             kill, suspend, fill disks, …; see package chaos
//	rotachaos kills [--store etcd] [--times 20] [--json]     how long tasks of killed members are without an owner
//	rotachaos powercut [--cuts 50] [--seed 1] [--json]       cut the power of file systems; see package powercut
//	rotachaos mutants [--seed 1] [--json]                    flawed binaries, each of which must be found out; see package mutants
//
// Exit codes: 0 all promises were kept, 1 one was not or it could not be played, 2 usage. A machine on which the power
// of no file system can be cut (no root, no loop device) is told so, loudly, with exit code 0.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rota-run/rota/proof/chaos/internal/mutants"
	"github.com/rota-run/rota/proof/chaos/internal/powercut"
	"github.com/rota-run/rota/proof/server"
)

func main() {
	if server.Child() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// writerCommand is how this program starts itself as a process that writes until its disk is gone.
const writerCommand = "powercut-writer"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	name, play := "", playChaos
	if len(args) > 0 {
		switch args[0] {
		case "powercut":
			name, play = args[0], playPowercut
		case "kills":
			name, play = args[0], playKills
		case "mutants":
			name, play = args[0], playMutants
		case writerCommand:
			return write(ctx, args[1:], stdout, stderr)
		}
	}
	p := &command{FlagSet: flag.NewFlagSet("rotachaos "+name, flag.ContinueOnError), stdout: stdout, stderr: stderr}
	p.SetOutput(stderr)
	p.asJSON = p.Bool("json", false, "the last line is the outcome as JSON; the rest goes to stderr")
	p.args = args
	if name != "" {
		p.args = args[1:]
	}
	err := play(ctx, p)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 2
	case errors.Is(err, errNotKept):
		return 1
	}
	fmt.Fprintf(stderr, "rotachaos: %v\n", err)
	return 1
}

// command is one of the ways to call this program: its flags, and where it writes.
type command struct {
	*flag.FlagSet
	args           []string
	asJSON         *bool
	stdout, stderr io.Writer
}

// parse reads the flags. Fine says what must hold beside them; nil for nothing.
func (p *command) parse(fine func() bool) error {
	if p.Parse(p.args) != nil {
		return flag.ErrHelp
	}
	if p.NArg() > 0 || fine != nil && !fine() {
		fmt.Fprintf(p.stderr, "%s: unknown argument %q, or a flag out of its bounds\ntry: %s --help\n", p.Name(),
			p.Arg(0), p.Name())
		return flag.ErrHelp
	}
	return nil
}

// people is where what people read goes: not between the lines that machines read.
func (p *command) people() io.Writer {
	if *p.asJSON {
		return p.stderr
	}
	return p.stdout
}

// errNotKept ends with exit code 1 without another line: the report has told.
var errNotKept = errors.New("a promise was not kept")

// tell ends a play: the report goes to stdout as JSON if asked for.
func (p *command) tell(report any, kept bool) error {
	if *p.asJSON {
		if err := json.NewEncoder(p.stdout).Encode(report); err != nil {
			return err
		}
	}
	if !kept {
		return errNotKept
	}
	return nil
}

// playMutants plays package mutants.
func playMutants(ctx context.Context, p *command) error {
	seed := p.Uint64("seed", 1, "of the decks of events")
	if err := p.parse(nil); err != nil {
		return err
	}
	r, err := mutants.Run(ctx, *seed, p.people())
	if err != nil {
		return err
	}
	fmt.Fprintf(p.people(), "%d mutants, %d killed, survived: %q, not done: %q · %.1f s\n", r.Mutants, r.Killed,
		r.Survived, r.NotDone, r.Seconds)
	return p.tell(r, r.OK)
}

// playPowercut plays package powercut.
func playPowercut(ctx context.Context, p *command) error {
	var o powercut.Options
	p.IntVar(&o.Cuts, "cuts", 50, "how often the power is cut")
	p.Uint64Var(&o.Seed, "seed", 1, "of when it is cut")
	p.StringVar(&o.Dir, "dir", "", "an empty or new directory for images and mount points; default a temporary one")
	if err := p.parse(nil); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o.Self, o.Out = []string{self, writerCommand}, p.people()
	r, err := powercut.Run(ctx, o)
	if err != nil {
		return err
	}
	if !r.Possible {
		fmt.Fprintf(p.stderr, "\nNOTHING WAS SHOWN: no file system's power can be cut on this machine: %q\n", r.NotDone)
	} else {
		fmt.Fprintf(o.Out, "%d cuts on %v, %d new stores: %d acknowledged, %d segments found, %d lost, %d faults · control without sync: %d of %d lost · not done: %q · %.1f s\n",
			r.Cuts, r.FS, r.Stores, r.Acked, r.Segments, r.Lost, len(r.Faults), r.Control.Lost, r.Control.Acked,
			r.NotDone, r.Seconds)
	}
	return p.tell(r, r.OK || !r.Possible)
}

// write is one process that writes until its disk is gone.
func write(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "this is for rotachaos powercut alone")
		return 2
	}
	if err := powercut.Write(ctx, args[0], args[1], stdout); err != nil {
		fmt.Fprintf(stderr, "rotachaos: %v\n", err)
		return 1
	}
	return 0
}
