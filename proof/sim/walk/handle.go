package walk

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// fate is what becomes of the next change.
type fate uint8

const (
	fine fate = iota
	lost      // it is done, the answer does not come
	fails
)

// handle is the connection to the store of one process, for one call.
type handle struct {
	s      *State
	member int
	start  byte
	lost   byte // sessions of its process
	fate   fate

	request memory.GroupCall    // what the call asks of the group
	answer  *memory.GroupAnswer // what the group says; nil: it was not asked
}

var _ machine.Store = (*handle)(nil)

// call makes a call on behalf of a process that started as number start in place i.
func (s *State) call(i int, start byte, e machine.Effect, f fate) machine.Event {
	m := s.members[i]
	h := &handle{s: s, member: i, start: start, lost: m.lost, fate: f}
	return s.rules.Machine.Caller(s.params(i, start), h).Call(context.Background(), e)
}

func (s *State) params(i int, start byte) machine.Start {
	p := params(name(i), start)
	m := s.members[i]
	p.Hints, p.Expire = s.rules.Settled, s.rules.Settled
	if s.bounds.Guardians {
		p.Guard = guards{s, i, start}
	}
	p.Now = func() protocol.Instant { return m.clock }
	p.Wall = func() time.Time { return time.UnixMilli(0) }
	return p
}

// change makes one change under the call's fate.
func (h *handle) change(do func() error) error {
	switch h.fate {
	case fails:
		return store.ErrUnavailable
	case lost:
		_ = do() // nobody hears of it
		return store.ErrUnknown
	}
	return do()
}

// Close implements store.Store.
func (h *handle) Close() error { return nil }

// Get implements store.Docs.
func (h *handle) Get(_ context.Context, key string) (store.Doc, error) {
	at, ok := h.s.find(key)
	if !ok {
		return store.Doc{}, store.ErrNotFound
	}
	return h.s.docs[at].Doc, nil
}

// List implements store.Docs.
func (h *handle) List(_ context.Context, prefix string) ([]store.Doc, error) {
	var out []store.Doc
	for _, d := range h.s.docs {
		if strings.HasPrefix(d.Key, prefix) {
			out = append(out, d.Doc)
		}
	}
	return out, nil
}

// Put implements store.Docs.
func (h *handle) Put(_ context.Context, d store.Doc) (store.Version, error) {
	return h.put(doc{Doc: d, member: h.member, start: h.start})
}

func (h *handle) put(d doc) (v store.Version, err error) {
	err = h.change(func() error {
		at, ok := h.s.find(d.Key)
		if ok != (d.Version != "") || ok && h.s.docs[at].Version != d.Version {
			return store.ErrConflict
		}
		d.Version = h.s.next(d.Doc)
		if h.s.rules.Decode != nil {
			d.says = h.s.rules.Decode(d.Key, d.Value)
		}
		h.s.docs = slices.Clone(h.s.docs)
		if ok {
			h.s.docs[at] = d
		} else {
			h.s.docs = slices.Insert(h.s.docs, at, d)
		}
		h.s.note(d.Key)
		v = d.Version
		return nil
	})
	return v, err
}

// next is the version that a document gets. Where versions are not ranked it begins with how often somebody was away, so that a document which was renewed meanwhile differs; clocks stand
// still otherwise, so nobody renews.
func (s *State) next(d store.Doc) store.Version {
	first := store.Version(rune('0' + s.used.Suspicions))
	switch {
	case s.rules.Decode != nil:
		return s.unique(d.Key)
	case d.Version == "":
		return first
	}
	return first + d.Version[1:] + "+"
}

// unique is a version that no document has had.
func (s *State) unique(key string) store.Version {
	s.puts++
	return store.Version(key + versionMark + strconv.FormatUint(s.puts, 10))
}

// versionMark is between the key and the number of a version that is ranked.
const versionMark = "\x00"

// Delete implements store.Docs.
func (h *handle) Delete(_ context.Context, key string, v store.Version) error {
	return h.change(func() error {
		at, ok := h.s.find(key)
		switch {
		case !ok:
			return store.ErrNotFound
		case h.s.docs[at].Version != v:
			return store.ErrConflict
		}
		h.s.docs = slices.Delete(slices.Clone(h.s.docs), at, at+1)
		h.s.note(key)
		return nil
	})
}

// Append implements store.Log.
func (h *handle) Append(_ context.Context, data []byte) (index uint64, err error) {
	err = h.change(func() error { index = h.s.append(data); return nil })
	return index, err
}

// Read implements store.Log. Who has read nothing gets a snapshot: it is the newest value.
func (h *handle) Read(_ context.Context, after uint64, _ int) (store.Page, error) {
	if after == 0 {
		return store.Page{}, store.ErrTruncated
	}
	return page(h.s.log[after+1-h.s.log[0].Index:], h.s), nil
}

// Snapshot implements store.Log.
func (h *handle) Snapshot(context.Context) (store.Record, error) {
	v := h.s.head()
	return store.Record{Index: uint64(v.Index()), Data: v.Snapshot()}, nil
}

// SaveSnapshot implements store.Log.
func (h *handle) SaveSnapshot(context.Context, store.Record) error { return nil }

// Trim implements store.Log.
func (h *handle) Trim(context.Context, uint64) error { return nil }

// OpenSession implements store.Sessions. A process has one at a time; unless a walk begins settled, each heartbeat that is renewed has its own.
func (h *handle) OpenSession(context.Context, time.Duration) (store.Session, error) {
	return session{h}, nil
}

// SessionsExpire implements store.Sessions.
func (h *handle) SessionsExpire() bool { return true }

type session struct{ h *handle }

// Put implements store.Session.
func (t session) Put(_ context.Context, d store.Doc) (store.Version, error) {
	return t.h.put(doc{Doc: d, member: t.h.member, start: t.h.start, session: t.name(d.Key)})
}

func (t session) name(key string) string {
	if t.h.s.rules.Heartbeat(key) && !t.h.s.rules.Settled {
		return key
	}
	return string(rune('0' + t.h.lost))
}

// Done implements store.Session: the model tells by answers alone.
func (session) Done() <-chan struct{} { return nil }

// Close implements store.Session.
func (t session) Close(context.Context) error {
	t.h.s.vanish(doc{member: t.h.member, start: t.h.start, session: t.name("")})
	return nil
}
