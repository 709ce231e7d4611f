package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

type (
	// Fetch reads documents, in one request or several. Each is at least as new as the call.
	Fetch struct {
		member.Call
		ID   uint64
		Keys []string
	}
	// Survey reads documents, and all partitions and jobs that a list shows. What the list shows of a partition that binds others counts where it is as
	// the last survey has read it.
	Survey struct {
		member.Call
		Keys  []string
		known *facts   // what that survey has read; nil for none in this term
		wrote []string // partitions that were written since, sorted
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
