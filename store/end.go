package store

import (
	"context"
	"os"
)

// EndKey allows another process to end one session.
type EndKey struct {
	// Text is the argument of SessionEnder.EndSession. It may be a secret: do not log it.
	Text string
	// File, if not nil, keeps the session alive while any process holds it open. A process with a copy of it can delay the end of the session.
	File *os.File
}

// EndableSession is a session that another process can end, after the process that opened it has died.
type EndableSession interface {
	Session
	// EndKey identifies this session and never any other one. Docs are the keys of the documents that it has or will have.
	EndKey(docs ...string) EndKey
}

// SessionEnder is the ability to end a session that another process has opened.
type SessionEnder interface {
	// EndSession ends a session in place of its owner: its documents are gone when it returns nil. A session that has already ended is not an error. The caller
	// must know that the owner's process has ended: requests that the owner sent before may still arrive, and must change nothing.
	EndSession(ctx context.Context, key string) error
}
