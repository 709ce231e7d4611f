package store

import (
	"context"
	"os"
)

// EndKey allows another process to end what one owner holds: a session, what a handle has written, a place in a group.
// The zero value allows nothing.
type EndKey struct {
	// Text is the argument of SessionEnder.EndSession. It may be a secret: do not log it.
	Text string
	// File, if not nil, keeps the session alive while any process holds it open. A process with a copy of it can delay the end of the session.
	File *os.File
}

// Endable is what another process can end, after the process that holds it has died: a session, or the handle of a
// store without sessions.
type Endable interface {
	// EndKey identifies this session, or documents of this handle, and never what another one has. Docs are the keys of
	// the documents that it has or will have; those of a handle nobody else writes.
	EndKey(docs ...string) EndKey
}

// EndKeyOf is the key of a session or a handle; the zero value if another process cannot end it.
func EndKeyOf(x any, docs ...string) (k EndKey) {
	if e, ok := x.(Endable); ok {
		k = e.EndKey(docs...)
	}
	return k
}

// EndableSession is a session that another process can end.
type EndableSession interface {
	Session
	Endable
}

// EndableGroup is a group that another process can leave in place of a member.
type EndableGroup interface {
	Group
	// EndPlace is for the place of a member, which no other one ever has.
	EndPlace(id string) EndKey
}

// SessionEnder is the ability to end what another process has opened.
type SessionEnder interface {
	// EndSession ends a session in place of its owner: its documents are gone when it returns nil. A session that has already ended is not an error. The caller
	// must know that the owner's process has ended: requests that the owner sent before may still arrive, and must change nothing.
	EndSession(ctx context.Context, key string) error
}
