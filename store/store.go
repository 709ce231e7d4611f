// Package store holds the contracts of what members agree through.
//
// # Purpose
//
// A protocol is written against these interfaces and never names a vendor. A vendor's folder below this one implements the
// contracts it can, and nothing else. An ability that only some stores have is an interface of its own, found by type
// assertion. The rules below are the contract; package storetest is the same in executable form.
//
// # Three outcomes
//
// A call that changes something is done (nil error), provably not done (any other error), or unknown: the error matches
// [ErrUnknown], the change may have happened, may happen later, or never. A driver must return ErrUnknown whenever it
// cannot prove one of the other two, for instance when the connection broke, or ctx ended, after the request was sent.
//
// # Concurrency and ownership
//
// All methods may be called from any goroutine. Byte slices given to a call stay the caller's and may be changed after it
// returned; returned slices are the caller's. A call returns soon after its ctx ends, with an error that wraps context.Cause(ctx).
package store

import (
	"context"
	"errors"
	"time"
)

// The errors that a caller can act on. Drivers wrap them with verb, object and cause.
var (
	ErrNotFound  = errors.New("not found")
	ErrConflict  = errors.New("version conflict")           // nothing was changed
	ErrUnknown   = errors.New("outcome unknown")            // it may have been changed, or may be later
	ErrTooLarge  = errors.New("too large for this store")   // nothing was changed
	ErrTruncated = errors.New("entries before are trimmed") // read the snapshot, then go on behind it
	ErrClosed    = errors.New("store is closed")
	ErrSession   = errors.New("session has ended")
	// ErrUnavailable marks a failure of the store itself (away, full, read-only); trying again later may help. Nothing was changed.
	ErrUnavailable = errors.New("store unavailable")
)

// Version is an opaque version of a document; compare for equality only. "" stands for "does not exist".
// A version never comes back: a document deleted and created again has another one.
type Version string

// Doc is a versioned document.
type Doc struct {
	Key     string // path-like, "a/b/c": 1–512 bytes of [A-Za-z0-9._/#@=-:], no empty segment; see CheckKey
	Value   []byte
	Version Version
}

// Full is what every driver of this module offers: documents and a log, native or made by package doclog.
type Full interface {
	Store
	Docs
	Log
}

// Docs are versioned documents. Get and conditional writes are linearizable; List is a hint.
type Docs interface {
	// Get returns the current document, or ErrNotFound.
	Get(ctx context.Context, key string) (Doc, error)
	// Put writes if d.Version is current ("" creates) and returns the new version; else ErrConflict, also where the
	// document does not exist and d.Version is not "".
	Put(ctx context.Context, d Doc) (Version, error)
	// Delete removes if v is current; else ErrConflict, or ErrNotFound.
	Delete(ctx context.Context, key string, v Version) error
	// List returns the documents whose keys begin with prefix, sorted by key, bytewise. A prefix is "" or ends with "/"; see
	// CheckPrefix. It may lag behind; Get may not.
	List(ctx context.Context, prefix string) ([]Doc, error)
}

// GetMany is the ability to read several documents in one request.
type GetMany interface {
	// Gets reads the documents of the keys, in their order: as if by Get of the first, then of the second, and so on, all within the call. So what one
	// of them says was so before what the next one says, or at the same moment. It returns one document for each key; one that does not exist has the
	// version "". A key may be given twice. A driver may split many keys into several requests, which keep the order.
	Gets(ctx context.Context, keys []string) ([]Doc, error)
}

// LogWith is the ability to read the log and documents in one request.
type LogWith interface {
	// ReadWith is Log.Read, and GetMany.Gets of the keys, each on its own account: what the one returns does not depend on the other. An error of
	// the log comes with the documents if they were read, and no document comes with an error of theirs.
	ReadWith(ctx context.Context, after uint64, limit int, keys []string) (page Page, docs []Doc, err error)
}

// Watcher is the ability to be told of changes instead of asking.
type Watcher interface {
	// Watch sends a hint when something below prefix may have changed (a document written, deleted, gone with its session; for
	// the log see LogWatcher). Hints are merged, may come late, without cause, or get lost: who watches also looks by himself from time to
	// time. The channel has room for one hint, is closed when ctx ends or the store closes, and holds one hint from the start. A watch outlives the
	// connection to a server, and gives a hint when it is heard again.
	Watch(ctx context.Context, prefix string) (<-chan struct{}, error)
}

// Sessions is the ability to hold documents that go with their owner.
type Sessions interface {
	// OpenSession starts a session whose documents vanish when it ends: closed, its process dead or, where SessionsExpire,
	// silent for ttl.
	OpenSession(ctx context.Context, ttl time.Duration) (Session, error)
	// SessionsExpire tells whether the store ends the session of a silent but existing process by itself.
	// Where it does not (a kernel lock on one machine), a heartbeat is needed to notice a suspended owner.
	SessionsExpire() bool
}

// Session is one session.
type Session interface {
	// Put is Docs.Put of a document that goes with this session. ErrSession if it has ended. Only the session that created a
	// document should write it: what becomes of its tie when somebody else does differs between stores (deleting is fine).
	//
	// A Put that was acknowledged renews the session: its documents do not vanish within the session's ttl of the instant at which Put was
	// called, unless the session is closed or its process is dead. A protocol takes a document that vanished for a proof that its owner no longer
	// trusts itself, so a store whose sessions expire by themselves must renew them with each Put, not only in the background.
	Put(ctx context.Context, d Doc) (Version, error)
	// Done is closed when the session is known to have ended. Where SessionsExpire, the owner's own clock tells that too: Done waits for no answer of
	// a server, and is closed at about the time at which others see the documents gone. Who must not act a moment longer counts by himself, from
	// the call of his last acknowledged Put.
	Done() <-chan struct{}
	// Close ends the session and removes its documents. Closing it again does nothing. Where the answer is an error, the
	// documents may stay until the store finds out by itself that the session has ended.
	Close(ctx context.Context) error
}

// Renewer is the ability of a [Session] to write a heartbeat at a cost that does not grow with those who watch.
type Renewer interface {
	// Renew is Put of a document of the session that is there, without a hint: nobody waits for a heartbeat but for its end, of which a hint tells.
	Renew(ctx context.Context, d Doc) (Version, error)
}

// Renew renews a document of a session, without a hint where it can.
func Renew(ctx context.Context, s Session, d Doc) (Version, error) {
	if r, ok := s.(Renewer); ok && d.Version != "" {
		return r.Renew(ctx, d)
	}
	return s.Put(ctx, d)
}

// Record is one record of a log.
type Record struct {
	Index uint64 // grows strictly, need not be dense; never zero
	Data  []byte
}

// Page is one answer of Log.Read.
type Page struct {
	Records []Record // in order; all that exist in (after, last record of this page]
	// Head is the newest index that existed when the page was read; a reader that has reached Head has read all that was
	// appended before its call began.
	Head uint64
}

// Log is an ordered log with snapshots. Appends of one caller, made one after the other, keep their order.
type Log interface {
	// Append adds a record and returns its index. ErrUnknown: it may stand there, once, now or later.
	Append(ctx context.Context, data []byte) (uint64, error)
	// Read returns up to limit (at least 1) records behind after, oldest first; fewer does not mean that there are no more,
	// only Page.Head tells. ErrTruncated if any record behind after was trimmed. A read that begins after an Append returned sees that record.
	Read(ctx context.Context, after uint64, limit int) (Page, error)
	// Snapshot returns the newest snapshot, or ErrNotFound.
	Snapshot(ctx context.Context) (Record, error)
	// SaveSnapshot stores a snapshot of the state after the record at s.Index, which must have been appended. One that is not
	// newer than what is there is ignored.
	SaveSnapshot(ctx context.Context, s Record) error
	// Trim frees the records up to and with index; never beyond the newest snapshot's index, and without one nothing. An
	// index is never given twice, also when all records are trimmed.
	Trim(ctx context.Context, index uint64) error
}

// Seeder is the ability to begin a log where another one has ended, for a copy of that one.
type Seeder interface {
	// SeedLog makes an empty log one to which the records up to and with index, at least 1, were appended and then trimmed: a snapshot at index
	// can be saved, and the next index is greater. ErrConflict if the log is not empty; one that was seeded with the same index, and got nothing
	// since, counts as empty, so that a seed whose answer was lost can be done again.
	SeedLog(ctx context.Context, index uint64) error
}

// LogWatcher is the ability to be told of appends.
type LogWatcher interface {
	// WatchLog sends a hint, under the rules of Watcher.Watch, when records may have been appended.
	WatchLog(ctx context.Context) (<-chan struct{}, error)
}

// Store is what a driver opens: the contracts it has are found by type assertion (Docs, GetMany, Log, LogWith,
// Watcher, LogWatcher, Seeder, Sessions, Group, Queue).
type Store interface {
	// Close ends all watches and sessions of this handle and frees it. Later calls return ErrClosed.
	Close() error
}
