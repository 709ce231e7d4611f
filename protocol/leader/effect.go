package leader

import (
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

type (
	// Get reads one document.
	Get struct {
		member.Call
		Key string
	}
	// List reads the documents below a prefix.
	List struct {
		member.Call
		Prefix string
	}
	// Put writes a document if it is still at Version; "" creates it. With Life, the store removes it with the heartbeat of that life; 0 for none.
	Put struct {
		member.Call
		Key     string
		Doc     any
		Version store.Version
		Life    uint64
	}
	// Delete removes a document at Version.
	Delete struct {
		member.Call
		Key     string
		Version store.Version
	}
)
