package view

import (
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
		Index: uint64(a.Entry.Index), AtMS: a.Entry.AtMS, Writer: string(a.Entry.Writer), Seq: a.Entry.Seq, Duplicate: a.Duplicate,
		Commands: make([]Command, len(a.Entry.Commands)), Digest: fmt.Sprintf("%016x", uint64(v.Digest())),
	}
	for i, c := range a.Entry.Commands {
		e.Commands[i].Said = fmt.Sprint(c)
		if i < len(a.Results) {
			e.Commands[i].Accepted, e.Commands[i].Reason = a.Results[i].Accepted, a.Results[i].Reason
		}
	}
	return e
}
