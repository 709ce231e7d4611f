package view

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Entry is one record of the log, with its effects.
type Entry struct {
	Index     uint64    `json:"index"`
	AtMS      int64     `json:"at_ms"` // by the clock of its writer
	Writer    string    `json:"writer"`
	Seq       uint64    `json:"seq"`
	Duplicate bool      `json:"duplicate,omitempty"`
	Commands  []Command `json:"commands"`
	Digest    string    `json:"digest"` // of the value behind it
}

// Command is one command with what became of it.
type Command struct {
	Said     string `json:"said"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"` // why it did nothing
}

// EntryOf shows an applied entry and the value behind it.
func EntryOf(v cluster.Value, a protocol.Applied) Entry {
	e := Entry{
		Index: uint64(a.Entry.Index), AtMS: a.Entry.AtMS, Writer: string(a.Entry.Writer), Seq: a.Entry.Seq,
		Duplicate: a.Duplicate,
		Commands:  make([]Command, len(a.Entry.Commands)), Digest: fmt.Sprintf("%016x", uint64(v.Digest())),
	}
	for i, c := range a.Entry.Commands {
		e.Commands[i].Said = fmt.Sprint(c)
		if i < len(a.Results) {
			e.Commands[i].Accepted, e.Commands[i].Reason = a.Results[i].Accepted, a.Results[i].Reason
		}
	}
	return e
}

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
