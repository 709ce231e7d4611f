package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/chaos/internal/chaos"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server"
)

// playChaos plays package chaos.
func playChaos(ctx context.Context, p *command) error {
	var o chaos.Options
	p.IntVar(&o.Events, "events", 200, "how many faults and changes")
	p.IntVar(&o.Members, "members", 5, "most members at once, 3 to 9")
	p.BoolVar(&o.Keep, "keep", false, "keep the directory when all went well, too")
	only := p.String("only", "", "kinds of events, separated by commas; default all")
	return p.withMembers(ctx, &o, 1500*time.Millisecond, nil, func() error {
		if *only != "" {
			o.Only = strings.Split(*only, ",")
		}
		r, err := chaos.Run(ctx, o)
		if err != nil {
			return err
		}
		return p.tell(r, r.OK)
	})
}

// playKills measures how long tasks of killed members are without an owner.
func playKills(ctx context.Context, p *command) error {
	var o chaos.Options
	times := p.Int("times", 20, "kills of each way, 1 to 1000")
	p.IntVar(&o.Nodes, "nodes", 1, "nodes of the server, 1 or 3; each is killed in its turn")
	p.BoolVar(&o.Unguarded, "unguarded", false, "no guardians: others take over when the TTL has passed")
	return p.withMembers(ctx, &o, 4*time.Second, func() bool { return *times >= 1 && *times <= 1000 }, func() error {
		r, err := chaos.RunKills(ctx, o, *times)
		if err != nil {
			return err
		}
		return p.tell(r, r.OK)
	})
}

// withMembers adds the flags of members and the store on which they meet, reads all flags, builds rota and starts a
// server where they are needed, and plays. That this machine has no such server is said, and no error.
func (p *command) withMembers(ctx context.Context, o *chaos.Options, ttl time.Duration, fine func() bool,
	play func() error) (err error) {
	p.Uint64Var(&o.Seed, "seed", 1, "of what is done, and to whom")
	p.StringVar(&o.Protocol, "protocol", "", "how the members agree; default: that of rota")
	p.DurationVar(&o.TTL, "ttl", 0, "TTL of the members; default "+ttl.String())
	p.BoolVar(&o.NoSessions, "no-sessions", false, "heartbeats alone")
	p.StringVar(&o.Binary, "binary", "", "path of rota; default: it is built")
	p.StringVar(&o.Dir, "dir", "", "an empty or new directory where everything goes; default a temporary one")
	store := p.String("store", "file", "kind of the store: file, "+strings.Join(server.All(), ", "))
	if err := p.parse(func() bool {
		return slices.Contains(append(server.All(), "file"), *store) && (fine == nil || fine())
	}); err != nil {
		return err
	}
	o.Out = p.people()
	dir, err := os.MkdirTemp("", "rota-chaos-parts-")
	if err != nil {
		return fmt.Errorf("play chaos: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary one
	if o.Binary == "" {
		err = process.Build(ctx, dir, process.Rota)
	}
	if err != nil {
		return err
	}
	if o.Binary, err = filepath.Abs(cmp.Or(o.Binary, filepath.Join(dir, "rota"))); err != nil {
		return err
	}
	if *store != "file" {
		s, err := server.SpawnNodes(ctx, *store, filepath.Join(dir, "server"), max(o.Nodes, 1))
		if errors.Is(err, server.ErrMissing) {
			fmt.Fprintf(p.stderr, "NOT DONE: chaos on %s: %v\n", *store, err)
			return nil
		}
		if err != nil {
			return err
		}
		defer s.Stop()
		o.Server = &chaos.Server{
			Store: s.URL + "/chaos", Nodes: s.Nodes, Kill: s.KillNode, Restart: s.RestartNode,
			Open: func(ctx context.Context) (chaos.Log, error) { return s.Open(ctx, "chaos", true) },
		}
	}
	return play()
}
