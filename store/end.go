package store

import (
	"context"
	"os"
)

// EndKey is what another process needs to end one session.
type EndKey struct {
	// Text is what SessionEnder.EndSession takes. It may be a secret: it must not be logged.
	Text string
	// File, where it is not nil, keeps the session alive for as long as anybody holds it open. Who has a copy of it can put off the end of the session.
	File *os.File
}

// EndableSession is a session that another process can end, after the process that opened it has died.
type EndableSession interface {
	Session
	// EndKey names this session and no other one, now or ever. Docs are the keys of the documents that it has or will have.
	EndKey(docs ...string) EndKey
}

// SessionEnder is the ability to end a session that another process has opened.
type SessionEnder interface {
	// EndSession ends a session in place of its owner: its documents are gone when it returns nil. A session that has ended already is no error. Who calls it
	// knows that the owner's process has ended: what the owner has sent before may still arrive, and changes nothing.
	EndSession(ctx context.Context, key string) error
}
