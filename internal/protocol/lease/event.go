package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
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

type (
	// Fetch reads documents, in one request or several. Each is at least as new as the call.
	Fetch struct {
		member.Call
		ID   uint64
		Keys []string
	}
	// Survey reads documents, and all partitions and jobs that a list shows. A partition that binds others by what it
	// has said is read by its key, and a share counts as it is listed where the last survey has read it so.
	Survey struct {
		member.Call
		Keys  []string
		known *facts   // what that survey has read; nil for none in this term
		wrote []string // partitions that were written since, sorted
		moves []string // partitions whose next state is awaited, sorted: a list may show it late
	}
	// Write puts a document over the version in it, or deletes that version.
	Write struct {
		member.Call
		ID     uint64
		Doc    store.Doc
		Delete bool
	}
	// ReadView reads a view.
	ReadView struct {
		member.Call
		View uint64
	}
	// Show writes a view and removes the one before the last.
	Show struct {
		member.Call
		View  uint64
		Value cluster.Value
	}
)
