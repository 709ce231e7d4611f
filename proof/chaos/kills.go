package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rota-run/rota/proof/chaos/internal/chaos"
	"github.com/rota-run/rota/proof/server"
)

// playKills measures how long tasks of killed members are without an owner.
func playKills(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("rotachaos kills", flag.ContinueOnError)
	f.SetOutput(stderr)
	var o chaos.Options
	times := f.Int("times", 20, "kills of each way, 1 to 1000")
	f.Uint64Var(&o.Seed, "seed", 1, "of who is killed")
	f.StringVar(&o.Protocol, "protocol", "", "how the members agree; default: that of rota")
	f.DurationVar(&o.TTL, "ttl", 0, "TTL of the members; default 4s")
	f.BoolVar(&o.NoSessions, "no-sessions", false, "heartbeats alone")
	f.BoolVar(&o.Unguarded, "unguarded", false, "no guardians: others take over when the TTL has passed")
	f.StringVar(&o.Binary, "binary", "", "path of rota; default: it is built")
	f.StringVar(&o.Dir, "dir", "", "an empty or new directory where everything goes; default a temporary one")
	store := f.String("store", "file", "kind of the store: file, "+strings.Join(server.All(), ", "))
	asJSON := f.Bool("json", false, "the last line is the outcome as JSON; the rest goes to stderr")
	if f.Parse(args) != nil {
		return flag.ErrHelp
	}
	if f.NArg() > 0 || *store != "file" && !slices.Contains(server.All(), *store) || *times < 1 || *times > 1000 {
		fmt.Fprintf(stderr, "rotachaos kills: unknown argument %q or store %q, or not 1 to 1000 times\ntry: rotachaos kills --help\n", f.Arg(0), *store)
		return flag.ErrHelp
	}
	o.Out = people(stdout, stderr, *asJSON)
	done, err := binary(ctx, &o.Binary)
	if err != nil {
		return err
	}
	defer done()
	stop, missing, err := serve(ctx, *store, &o, stderr)
	if err != nil || missing {
		return err
	}
	defer stop()
	r, err := chaos.RunKills(ctx, o, *times)
	if err != nil {
		return err
	}
	return tell(stdout, *asJSON, r, r.OK)
}
