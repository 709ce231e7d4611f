// Package store defines the contracts of the stores through which members agree.
//
// # Purpose
//
// A protocol is written against these interfaces and never names a vendor. A vendor's package below this one implements
// the contracts it can. An ability that only some stores have is a separate interface, found by type assertion. The
// rules below are the contract; package storetest is the same in executable form.
//
// # Three outcomes
//
// A call that changes something is done (nil error), provably not done (any other error), or unknown: the error matches
// [ErrUnknown], the change may have happened, may happen later, or never. A driver must return ErrUnknown whenever it
// cannot prove one of the other two, for instance when the connection broke, or ctx ended, after the request was sent.
//
// # Concurrency and ownership
//
// All methods may be called from any goroutine. Byte slices given to a call stay the caller's, who may change them
// after it returned; returned slices are the caller's. A call returns soon after its ctx ends, with an error that wraps
// context.Cause(ctx).
package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"
)

// The errors that a caller can act on. Drivers wrap them with verb, object and cause.
var (
	ErrNotFound  = errors.New("not found")
	ErrConflict  = errors.New("version conflict")           // nothing was changed
	ErrUnknown   = errors.New("outcome unknown")            // it may have happened, or may happen later
	ErrTooLarge  = errors.New("too large for this store")   // nothing was changed
	ErrTruncated = errors.New("entries before are trimmed") // read the snapshot, then continue after it
	ErrClosed    = errors.New("store is closed")
	ErrSession   = errors.New("session has ended")
	ErrTTL       = errors.New("no session may last for so long")       // nothing was changed; a shorter one may do
	ErrReadOnly  = errors.New("the store was opened for reading only") // nothing was changed, and no retry helps
	// ErrUnavailable marks a failure of the store itself (unreachable, full, read-only); a later retry may help.
	// Nothing was changed.
	ErrUnavailable = errors.New("store unavailable")
)

// Version is an opaque version of a document; compare for equality only. "" means that the document does not exist.
// A version is never reused: a document deleted and created again has another one.
type Version string

// Doc is a versioned document.
type Doc struct {
	Key     string // path-like, "a/b/c": 1–512 bytes of [A-Za-z0-9._/#@=-:], no empty segment; see CheckKey
	Value   []byte
	Version Version
}

// Full is what every driver of this module offers: documents and a log, native or made by package engine.
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
	// List returns the documents whose keys begin with prefix, sorted by key, bytewise. A prefix is "" or ends with
	// "/"; see CheckPrefix. List may be stale; Get may not.
	List(ctx context.Context, prefix string) ([]Doc, error)
}

// GetMany is the ability to read several documents in one request.
type GetMany interface {
	// Gets reads the documents of the keys, in their order: as if by one Get after the other, all within the call. So
	// the state of each document was read at the same moment as that of the next one, or earlier. It returns one
	// document for each key; a missing document has the version "". A key may be given twice. A driver may split many
	// keys into several requests, which keep the order.
	Gets(ctx context.Context, keys []string) ([]Doc, error)
}

// Refresher is the ability of a store with stale lists to bring them up to date.
type Refresher interface {
	// Refresh returns when List sees each write that was acknowledged before the call. It is costly: for one who moves
	// a cluster, not for members.
	Refresh(ctx context.Context) error
}

// LogWith is the ability to read the log and documents in one request.
type LogWith interface {
	// ReadWith is Log.Read and GetMany.Gets of the keys, independent of each other: neither result depends on the other
	// one. If the log returns an error, the documents are returned with it if they were read; if the documents return
	// one, none of them is returned.
	ReadWith(ctx context.Context, after uint64, limit int, keys []string) (page Page, docs []Doc, err error)
}

// Watcher notifies of changes, in place of polling.
type Watcher interface {
	// Watch sends a hint when something below prefix may have changed (a document written, deleted, gone with its
	// session; for the log see LogWatcher). Hints are merged, may come late or without cause, or get lost: watchers
	// must also poll from time to time. The channel has room for one hint, is closed when ctx ends or the store closes,
	// and holds one hint from the start. A watch survives the loss of the connection to a server, and sends a hint when
	// the connection is back.
	Watch(ctx context.Context, prefix string) (<-chan struct{}, error)
}

// Sessions is the ability to hold documents that vanish with their owner.
type Sessions interface {
	// OpenSession starts a session whose documents vanish when it ends: closed, its process dead or, where
	// SessionsExpire, silent for ttl. ErrTTL: the store grants no session for so long.
	OpenSession(ctx context.Context, ttl time.Duration) (Session, error)
	// SessionsExpire reports whether the store ends the session of a silent but existing process on its own.
	// If it does not (a kernel lock on one machine), a heartbeat is needed to detect a suspended owner.
	SessionsExpire() bool
}

// Session is one session.
type Session interface {
	// Put is Docs.Put of a document that vanishes with this session. ErrSession if it has ended. Only the session that
	// created a document should write it: if another one does, stores differ in whether the document stays tied to the
	// session (deleting is fine).
	//
	// A Put that was acknowledged renews the session: its documents do not vanish within the session's ttl from the
	// instant at which Put was called, unless the session is closed or its process is dead. A protocol considers a
	// vanished document as proof that its owner's lease has expired, so a store whose sessions expire on their own must
	// renew them with each Put, not only in the background.
	Put(ctx context.Context, d Doc) (Version, error)
	// Done is closed when the session is known to have ended. If SessionsExpire, the owner's own clock decides that
	// too: Done does not wait for an answer of a server, and is closed at about the time at which others see the
	// documents gone. A caller that must not act a moment longer must track the deadline itself, from the call of its
	// last acknowledged Put.
	Done() <-chan struct{}
	// Close ends the session and removes its documents. Closing it again does nothing. If it returns an error, the
	// documents may stay until the store detects the end of the session.
	Close(ctx context.Context) error
}

// Renewer is the ability of a [Session] to write a heartbeat at a cost that does not grow with those who watch.
type Renewer interface {
	// Renew is Put of a document of the session that is there, without a hint: nobody waits for a heartbeat but for its
	// end, of which a hint tells.
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

// Page is one result of Log.Read.
type Page struct {
	Records []Record // in order; all that exist in (after, last record of this page]
	// Head is the newest index that existed when the page was read; a reader that has reached Head has read everything
	// appended before its call began.
	Head uint64
}

// Log is an ordered log with snapshots. Appends of one caller, made one after the other, keep their order.
type Log interface {
	// Append adds a record and returns its index. ErrUnknown: the record may be in the log, once, now or later.
	Append(ctx context.Context, data []byte) (uint64, error)
	// Read returns up to limit (at least 1) records after the index after, oldest first. Fewer records do not mean that
	// there are no more; compare with Page.Head. ErrTruncated if any record after that index was trimmed. A read that
	// begins after an Append returned sees its record.
	Read(ctx context.Context, after uint64, limit int) (Page, error)
	// Snapshot returns the newest snapshot, or ErrNotFound.
	Snapshot(ctx context.Context) (Record, error)
	// SaveSnapshot stores a snapshot of the state after the record at s.Index, which must have been appended. A
	// snapshot that is not newer than the stored one is ignored.
	SaveSnapshot(ctx context.Context, s Record) error
	// Trim frees the records up to and with index; never beyond the newest snapshot's index, and none without a
	// snapshot. An index is never reused, even if all records are trimmed.
	Trim(ctx context.Context, index uint64) error
}

// Seeder starts a log where another one ended, to copy that one.
type Seeder interface {
	// SeedLog turns an empty log into one to which the records up to and with index, at least 1, were appended and then
	// trimmed: a snapshot at index can be saved, and the next index is greater. ErrConflict if the log is not empty. A
	// log seeded with the same index and unused since counts as empty, so that a seed with a lost answer can be
	// repeated.
	SeedLog(ctx context.Context, index uint64) error
}

// LogWatcher notifies of appends.
type LogWatcher interface {
	// WatchLog sends a hint, under the rules of Watcher.Watch, when records may have been appended.
	WatchLog(ctx context.Context) (<-chan struct{}, error)
}

// Store is the result of opening a driver. Its contracts are found by type assertion (Docs, GetMany, Log, LogWith,
// Watcher, LogWatcher, Seeder, Sessions, Group, Queue).
type Store interface {
	// Close ends all watches and sessions of this handle and frees it. Later calls return ErrClosed.
	Close() error
}

// CheckSeed reports what is wrong with the index of SeedLog, or nil. Indexes fit an int64, and there must be room for
// further ones.
func CheckSeed(index uint64) error {
	if index == 0 || index > math.MaxInt64/2 {
		return fmt.Errorf("index is %d: give 1 to %d", index, int64(math.MaxInt64/2))
	}
	return nil
}

// EndKey allows another process to end what one owner holds: a session, what a handle has written, a place in a group.
// The zero value allows nothing.
type EndKey struct {
	// Text is the argument of SessionEnder.EndSession. It may be a secret: do not log it.
	Text string
	// File, if not nil, keeps the session alive while any process holds it open. A process with a copy of it can delay
	// the end of the session.
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
	// EndSession ends a session in place of its owner: its documents are gone when it returns nil. A session that has
	// already ended is not an error. The caller must know that the owner's process has ended: requests that the owner
	// sent before may still arrive, and must change nothing.
	EndSession(ctx context.Context, key string) error
}
