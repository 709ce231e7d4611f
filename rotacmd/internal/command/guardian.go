package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/tasks/program"
)

// guardianOpens opens the store for a guardian, as its member has opened it: by the same text and environment.
func guardianOpens(e env) guardian.Opener {
	return func(ctx context.Context, place string) (guardian.Store, error) {
		st, err := openStore(ctx, e, place, change)
		if err != nil {
			return nil, err
		}
		if s, ok := st.(guardian.Store); ok {
			return s, nil
		}
		_ = st.Close() // nothing was done with it
		return nil, fmt.Errorf("store %s: sessions cannot be ended from outside", place)
	}
}

// guarding gives the member a place for programs and a guardian, where it needs them, and returns what gives them back.
func (c *config) guarding(st store.Full) (done func()) {
	var undo []func()
	var o guardian.Options
	if len(c.allow.exec) > 0 {
		room := program.NewRoom(program.Options{Adopt: true, Logger: c.node.Logger})
		c.allow.programs = room
		o.Programs, o.Children = room.Place(), room
		undo = append(undo, func() { _ = room.Close() }) // what it leaves, the next member removes
	}
	c.node.Guard = c.guardian(st, o, &undo)
	return func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
}

func (c *config) guardian(st store.Full, o guardian.Options, undo *[]func()) protocol.Guard {
	_, ends := st.(store.SessionEnder)
	_, bare := st.(store.Endable) // also without sessions
	switch {
	case !c.guarded:
		return unguarded("none: --guardian=false")
	case c.node.NoSessions && !bare && o.Programs.Mark == "":
		return unguarded("none: no session to end (--no-sessions)")
	case !ends && o.Programs.Mark == "":
		return unguarded(notNeeded)
	}
	o.Name, o.Place, o.TTL, o.Logger = string(c.node.Member), c.store, c.node.TTL, c.node.Logger
	g, err := guardian.Start(o)
	if err != nil {
		c.node.Logger.Warn("no guardian: after the death of this process, others take over when the TTL has passed", "err", err)
		return unguarded("none: " + firstLine(err.Error()))
	}
	*undo = append(*undo, g.Close)
	return g
}

// unguarded says why a member has no guardian.
type unguarded string

// notNeeded is what a member says whose session the kernel ends with its process, and that starts no programs.
const notNeeded = "not needed"

// Guard implements protocol.Guard.
func (unguarded) Guard(store.EndKey) {}

// Release implements protocol.Guard.
func (unguarded) Release(store.EndKey) {}

// State implements protocol.Guard.
func (u unguarded) State() string { return strings.ToValidUTF8(string(u), "?") }
