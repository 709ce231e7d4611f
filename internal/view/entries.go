package view

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// NoLogError is that of a place whose protocol keeps no log.
type NoLogError struct {
	Store    string // for people, without secrets
	Protocol string
}

// Error implements error.
func (e *NoLogError) Error() string {
	return fmt.Sprintf("store %s: the protocol %s keeps no log", e.Store, e.Protocol)
}

// Newest returns the newest entries that the log holds, at most so many, and how many it holds before them.
func (p *Past) Newest(ctx context.Context, most int) (entries []Entry, before int, err error) {
	trim := func(room int) {
		if len(entries) > room {
			before += len(entries) - most
			entries = append(entries[:0:0], entries[len(entries)-most:]...)
		}
	}
	err = p.walk(ctx, 0, func(e Entry) bool {
		entries = append(entries, e)
		trim(2 * most)
		return true
	})
	trim(most)
	return entries, before, err
}

// After returns the entries that follow an index, at most so many, and whether there are more. It begins with the
// oldest entry that the log holds where the index is further back.
func (p *Past) After(ctx context.Context, index cluster.Index, most int) (entries []Entry, more bool, err error) {
	err = p.walk(ctx, index, func(e Entry) bool {
		if more = len(entries) == most; !more {
			entries = append(entries, e)
		}
		return !more
	})
	return entries, more, err
}

// walk goes through the entries that follow an index.
func (p *Past) walk(ctx context.Context, after cluster.Index, yield func(Entry) bool) error {
	err := p.Historian.History(ctx, p.Store, after, func(v cluster.Value, a protocol.Applied) bool {
		return ctx.Err() == nil && yield(EntryOf(v, a))
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}
