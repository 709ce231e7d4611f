package walk

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// handle is the connection to the store of one process, for one call.
type handle struct {
	model.Handle
	life
	s    *State
	lost byte // sessions of its process
	fate model.Fate

	request memory.GroupCall // what the call asks of the group
}

var _ machine.Store = (*handle)(nil)

// handle is a connection for a call that was answered so far.
func (s *State) handle(l life, f model.Fate, answers ...model.Answer) *handle {
	h := &handle{s: s, life: l, lost: s.members[l.member].lost, fate: f}
	h.Handle = model.Handle{Side: h, Turn: &model.Turn{Answers: answers}}
	h.Turn.Begin(math.MaxInt)
	return h
}

// call makes a call on behalf of a process.
func (s *State) call(l life, e machine.Effect, f model.Fate) machine.Event {
	return s.make(s.handle(l, f), s.params(l), e)
}

func (s *State) make(h *handle, p machine.Start, e machine.Effect) machine.Event {
	return s.rules.Machine.Caller(p, h).Call(context.Background(), e)
}

func (s *State) params(l life) machine.Start {
	m := s.members[l.member]
	hints, me := s.rules.Settled, name(l.member)
	p := machine.Start{
		Params: kernel.Params{
			Member: me, Join: cluster.PrepareJoin{Member: me}, Nonce: string('0' + l.start), SnapshotEvery: 1 << 60,
			Timing: heartbeat.Timing{TTL: ttl, Rho: 50, Margin: time.Second},
			Hints:  kernel.Hints{Log: hints, Docs: hints, Ends: hints, Vanish: hints},
		},
		Sessions: true,
		Now:      func() protocol.Instant { return m.clock },
		Wall:     func() time.Time { return time.UnixMilli(0) },
	}
	if s.bounds.Guardians {
		p.Guard = guards{s, l}
	}
	return p
}

// Do implements [model.Side]. What is asked of the group is answered later. Who has read nothing of the log gets a
// snapshot: it is the newest value. A process has one session at a time; unless a walk begins settled, each heartbeat
// that is renewed has its own.
func (h *handle) Do(r model.Request) (a model.Answer, answered bool) {
	switch r.Kind {
	case model.Group:
		h.request = r.Group
		return a, false
	case model.Get:
		a.Doc, a.Err = h.s.docs.Get(r.Doc.Key)
	case model.List:
		a.Docs = h.s.docs.List(r.Doc.Key)
	case model.Put:
		a.Err = h.fate.Change(func() error { return h.put(r, &a) }, nil)
	case model.Delete:
		a.Err = h.fate.Change(func() error { return h.s.delete(r.Doc) }, nil)
	case model.Append:
		a.Err = h.fate.Change(func() error { a.Record.Index = h.s.append(r.Record.Data); return nil }, nil)
	case model.Read:
		if a.Err = store.ErrTruncated; r.Record.Index > 0 {
			a.Page, a.Err = page(h.s.log[r.Record.Index+1-h.s.log[0].Index:], h.s), nil
		}
	case model.Snapshot:
		v := h.s.head()
		a.Record = store.Record{Index: uint64(v.Index()), Data: v.Snapshot()}
	case model.Open:
		a.Session = h
	case model.Close:
		h.s.vanish(owner{life: h.life, session: h.session("")})
	}
	return a, true
}

// End implements [model.Side]: the place, the number of the start, and the session.
func (h *handle) End(_ any, docs []string) store.EndKey {
	return store.EndKey{Text: string(rune('0'+h.member)) + string(rune('0'+h.start)) + h.session(docs[0])}
}

// SessionsExpire implements store.Sessions.
func (h *handle) SessionsExpire() bool { return true }

// session is the name of the session that a document is tied to.
func (h *handle) session(key string) string {
	if h.s.rules.Heartbeat(key) && !h.s.rules.Settled {
		return key
	}
	return string(rune('0' + h.lost))
}

func (h *handle) put(r model.Request, a *model.Answer) error {
	s := h.s
	at, ok, err := s.docs.Over(r.Doc)
	if err != nil {
		return err
	}
	d := doc{Doc: r.Doc, Of: owner{life: h.life}}
	if r.Session != nil {
		d.Of.session = h.session(d.Key)
	}
	tail := store.Version("")
	if ok {
		tail = d.Version[1:] + "+"
	}
	d.Version = s.version(d.Key, tail)
	if s.rules.Decode != nil {
		d.Of.says = s.rules.Decode(d.Key, d.Value)
	}
	s.docs = slices.Clone(s.docs).Stored(at, ok, d)
	s.note(d.Key)
	a.Doc.Version = d.Version
	return nil
}

func (s *State) delete(d store.Doc) error {
	at, err := s.docs.At(d.Key, d.Version)
	if err == nil {
		s.docs = slices.Delete(slices.Clone(s.docs), at, at+1)
		s.note(d.Key)
	}
	return err
}

// version is another one of a document. Where versions are not ranked it is how often somebody was away, and a tail of
// the document's own: one that was renewed meanwhile differs. Clocks stand still otherwise, so nobody renews.
func (s *State) version(key string, tail store.Version) store.Version {
	if s.rules.Decode == nil {
		return store.Version(rune('0'+s.used[Suspicions])) + tail
	}
	s.puts++
	return store.Version(key + versionMark + strconv.FormatUint(s.puts, 10))
}

// versionMark is between the key and the number of a version that is ranked.
const versionMark = "\x00"
