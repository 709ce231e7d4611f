package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

type (
	// Fetched answers Fetch: the documents in the order of its keys. One that is not there has no version.
	Fetched struct {
		member.Now
		Sent   protocol.Instant
		WallMS int64
		ID     uint64
		Docs   []store.Doc
		Err    string
	}
	// Surveyed answers Survey: all that was asked for and all that was listed, sorted by key.
	Surveyed struct {
		member.Now
		Sent   protocol.Instant
		WallMS int64
		Docs   []store.Doc
		Old    []cluster.JobID // of which the list shows what was
		Err    string
	}
	// Written answers Write.
	Written struct {
		member.Now
		ID      uint64
		Outcome outbox.Outcome
		Version store.Version
		Err     string
	}
	// ViewRead answers ReadView.
	ViewRead struct {
		member.Now
		View  uint64
		Value cluster.Value
		Err   string
		Halt  error // this member can never read it
	}
	// Shown answers Show.
	Shown struct {
		member.Now
		View    uint64
		Outcome outbox.Outcome
		Newest  uint64 // of a refusal: the newest view that a list shows
		Err     string
	}
)
