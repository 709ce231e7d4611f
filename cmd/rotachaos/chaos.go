package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rota-run/rota/cmd/rotachaos/internal/chaos"
)

// playChaos plays package chaos.
func playChaos(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("rotachaos", flag.ContinueOnError)
	f.SetOutput(stderr)
	var o chaos.Options
	f.IntVar(&o.Events, "events", 200, "how many faults and changes")
	f.Uint64Var(&o.Seed, "seed", 1, "of the deck of events")
	f.IntVar(&o.Members, "members", 5, "most members at once, 3 to 9")
	f.DurationVar(&o.TTL, "ttl", 0, "TTL of the members; default 1.5s")
	f.BoolVar(&o.NoSessions, "no-sessions", false, "heartbeats alone")
	f.StringVar(&o.Binary, "binary", "", "path of rota; default: it is built")
	f.StringVar(&o.Dir, "dir", "", "an empty or new directory where everything goes; default a temporary one")
	store := f.String("store", "file", "kind of the store; file is the only one so far")
	kinds := f.String("only", "", "kinds of events, separated by commas; default all")
	asJSON := f.Bool("json", false, "the last line is the outcome as JSON; the rest goes to stderr")
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if f.NArg() > 0 || *store != "file" {
		fmt.Fprintf(stderr, "rotachaos: unknown argument %q or store %q\ntry: rotachaos --help\n", f.Arg(0), *store)
		return flag.ErrHelp
	}
	if *kinds != "" {
		o.Only = strings.Split(*kinds, ",")
	}
	o.Out = people(stdout, stderr, *asJSON)
	done, err := binary(ctx, &o.Binary)
	if err != nil {
		return err
	}
	defer done()
	r, err := chaos.Run(ctx, o)
	if err != nil {
		return err
	}
	return tell(stdout, *asJSON, r, r.OK)
}

// binary builds rota where no path was given.
func binary(ctx context.Context, path *string) (done func(), err error) {
	if *path != "" {
		*path, err = filepath.Abs(*path)
		return func() {}, err
	}
	dir, err := os.MkdirTemp("", "rota-binary-")
	if err != nil {
		return nil, fmt.Errorf("build rota: %w", err)
	}
	*path = filepath.Join(dir, "rota")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", *path, "github.com/rota-run/rota/cmd/rota").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build rota: %w: %s", err, out)
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}
