// Package model is the store of the simulator and of the checker: what their worlds hold in common.
//
// A [Handle] is the contract of a store: a call of it is one [Request] to a [Side], which says when it is done and what
// becomes of it. A call that cannot be answered at once stops, and is made again from its beginning with the answers
// that there are: see [Turn]. Nothing waits in a goroutine.
//
// [Docs] are its documents. The log is not here: the simulator's has gaps and is trimmed, the checker's is dense.
package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// Doc is a document, and whose it is.
type Doc[O any] struct {
	store.Doc
	Of O
}

// Docs are documents, sorted by key.
type Docs[O any] []Doc[O]

// Find returns where a document is, or would be.
func (d Docs[O]) Find(key string) (int, bool) {
	return slices.BinarySearchFunc(d, key, func(one Doc[O], key string) int { return strings.Compare(one.Key, key) })
}

// Get returns a document, or [store.ErrNotFound].
func (d Docs[O]) Get(key string) (store.Doc, error) {
	if i, ok := d.Find(key); ok {
		return d[i].Doc, nil
	}
	return store.Doc{}, store.ErrNotFound
}

// List returns those below a prefix.
func (d Docs[O]) List(prefix string) []store.Doc {
	i, _ := d.Find(prefix)
	out := []store.Doc{}
	for ; i < len(d) && strings.HasPrefix(d[i].Key, prefix); i++ {
		out = append(out, d[i].Doc)
	}
	return out
}

// Over returns where a write of a document goes, and whether there is one; or [store.ErrConflict].
func (d Docs[O]) Over(doc store.Doc) (i int, there bool, err error) {
	i, there = d.Find(doc.Key)
	if there != (doc.Version != "") || there && d[i].Version != doc.Version {
		err = store.ErrConflict
	}
	return i, there, err
}

// Stored are the documents with another one, or with another text of it, where [Docs.Over] says.
func (d Docs[O]) Stored(i int, there bool, doc Doc[O]) Docs[O] {
	if !there {
		return slices.Insert(d, i, doc)
	}
	d[i] = doc
	return d
}

// At returns where a document of a version is, or why it is not there.
func (d Docs[O]) At(key string, v store.Version) (int, error) {
	i, ok := d.Find(key)
	switch {
	case !ok:
		return 0, store.ErrNotFound
	case d[i].Version != v:
		return 0, store.ErrConflict
	}
	return i, nil
}

// Kind of a request.
type Kind uint8

// The kinds. Those from Put on change the store.
const (
	Get Kind = iota
	List
	Read
	Snapshot
	Put
	Delete
	Append
	SaveSnapshot
	Trim
	Open
	Close
	Group
)

// Request is one request to the store.
type Request struct {
	Kind    Kind
	Doc     store.Doc    // its key may be a prefix
	Session any          // of the document; nil for none
	Record  store.Record // its index may be that after which records are read, or up to which they are trimmed
	Limit   int
	TTL     time.Duration
	Group   memory.GroupCall
}

// Answer is what a request is answered.
type Answer struct {
	Doc     store.Doc
	Docs    []store.Doc
	Page    store.Page
	Record  store.Record
	Session any
	Group   memory.GroupAnswer
	Err     error
}

// Side is the store's side of a handle.
type Side interface {
	// Do does a request and tells whether it is answered already.
	Do(r Request) (Answer, bool)
	// End names a session, with documents of it, to those who may end it.
	End(session any, docs []string) store.EndKey
	SessionsExpire() bool
}

// Turn is one of the times that a call is made. What was answered before is answered as it was.
type Turn struct {
	Answers []Answer
	asked   int // requests of this turn
	most    int // that are answered by its end
}

// Begin begins another turn, in which so many requests are answered.
func (t *Turn) Begin(most int) { t.asked, t.most = 0, most }

// Stopped tells whether a request was left for later.
func (t *Turn) Stopped() bool { return t.asked > t.most }

// errLater answers the requests that are left for later.
var errLater = errors.New("the rest of the call has yet to come")

// Handle is a connection to a store.
type Handle struct {
	Side
	Turn *Turn // nil for a call that is made in one go
}

func (h *Handle) do(r Request) Answer {
	t := h.Turn
	if t == nil {
		a, _ := h.Do(r)
		return a
	}
	if t.asked++; t.asked <= len(t.Answers) {
		return t.Answers[t.asked-1]
	}
	if !t.Stopped() {
		a, answered := h.Do(r)
		if answered {
			t.Answers = append(t.Answers, a)
			return a
		}
		t.most = t.asked - 1
	}
	return Answer{Err: errLater}
}

// Close implements store.Store.
func (h *Handle) Close() error { return nil }

// Get implements store.Docs.
func (h *Handle) Get(_ context.Context, key string) (store.Doc, error) {
	a := h.do(Request{Kind: Get, Doc: store.Doc{Key: key}})
	return a.Doc, a.Err
}

// Put implements store.Docs.
func (h *Handle) Put(_ context.Context, doc store.Doc) (store.Version, error) {
	a := h.do(Request{Kind: Put, Doc: doc})
	return a.Doc.Version, a.Err
}

// Delete implements store.Docs.
func (h *Handle) Delete(_ context.Context, key string, v store.Version) error {
	return h.do(Request{Kind: Delete, Doc: store.Doc{Key: key, Version: v}}).Err
}

// List implements store.Docs.
func (h *Handle) List(_ context.Context, prefix string) ([]store.Doc, error) {
	a := h.do(Request{Kind: List, Doc: store.Doc{Key: prefix}})
	return a.Docs, a.Err
}

// Append implements store.Log.
func (h *Handle) Append(_ context.Context, data []byte) (uint64, error) {
	a := h.do(Request{Kind: Append, Record: store.Record{Data: data}})
	return a.Record.Index, a.Err
}

// Read implements store.Log.
func (h *Handle) Read(_ context.Context, after uint64, limit int) (store.Page, error) {
	a := h.do(Request{Kind: Read, Record: store.Record{Index: after}, Limit: limit})
	return a.Page, a.Err
}

// Snapshot implements store.Log.
func (h *Handle) Snapshot(context.Context) (store.Record, error) {
	a := h.do(Request{Kind: Snapshot})
	return a.Record, a.Err
}

// SaveSnapshot implements store.Log.
func (h *Handle) SaveSnapshot(_ context.Context, s store.Record) error {
	return h.do(Request{Kind: SaveSnapshot, Record: s}).Err
}

// Trim implements store.Log.
func (h *Handle) Trim(_ context.Context, index uint64) error {
	return h.do(Request{Kind: Trim, Record: store.Record{Index: index}}).Err
}

// OpenSession implements store.Sessions.
func (h *Handle) OpenSession(_ context.Context, ttl time.Duration) (store.Session, error) {
	a := h.do(Request{Kind: Open, TTL: ttl})
	return session{h, a.Session}, a.Err
}

// session is a session on the member's side.
type session struct {
	h  *Handle
	of any
}

// EndKey implements store.EndableSession.
func (s session) EndKey(docs ...string) store.EndKey { return s.h.End(s.of, docs) }

// Put implements store.Session.
func (s session) Put(_ context.Context, doc store.Doc) (store.Version, error) {
	a := s.h.do(Request{Kind: Put, Doc: doc, Session: s.of})
	return a.Doc.Version, a.Err
}

// Done implements store.Session: the answer of a Put tells.
func (session) Done() <-chan struct{} { return nil }

// Close implements store.Session.
func (s session) Close(context.Context) error { return s.h.do(Request{Kind: Close, Session: s.of}).Err }

// JoinGroup implements store.Group.
func (h *Handle) JoinGroup(_ context.Context, j store.JoinRequest) (store.Membership, error) {
	a := h.group(memory.GroupCall{Join: &j})
	return a.Group.Membership, a.Err
}

// SyncGroup implements store.Group.
func (h *Handle) SyncGroup(_ context.Context, s store.Seat, give []store.GroupMember) ([]byte, error) {
	a := h.group(memory.GroupCall{Sync: &s, Give: give})
	return a.Group.Given, a.Err
}

// Heartbeat implements store.Group.
func (h *Handle) Heartbeat(_ context.Context, s store.Seat) error {
	return h.group(memory.GroupCall{Beat: &s}).Err
}

// LeaveGroup implements store.Group.
func (h *Handle) LeaveGroup(_ context.Context, id string) error {
	return h.group(memory.GroupCall{Leave: id}).Err
}

func (h *Handle) group(c memory.GroupCall) Answer { return h.do(Request{Kind: Group, Group: c}) }
