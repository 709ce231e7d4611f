package beat

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// server is a store whose sessions may expire, and last for so long at most.
type server struct {
	*memory.Store
	expire bool
	most   time.Duration
	opened []time.Duration
}

func (s *server) SessionsExpire() bool { return s.expire }

func (s *server) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	if ttl > s.most {
		return nil, fmt.Errorf("open session: %w", store.ErrTTL)
	}
	s.opened = append(s.opened, ttl)
	return s.Store.OpenSession(ctx, ttl)
}

// TestNoSessionIsShorterThanUsual: a store that grants none for so long is asked for less, down to the usual TTL.
func TestNoSessionIsShorterThanUsual(t *testing.T) {
	t.Parallel()
	const usual = 10 * time.Second
	for most, want := range map[time.Duration]time.Duration{ // order-free: each by itself
		30 * time.Second: 30 * time.Second, 29 * time.Second: 15 * time.Second, 14 * time.Second: usual, time.Second: 0,
	} {
		s := &server{Store: memory.New().Open(), most: most}
		session, _, err := Open(t.Context(), s, 3*usual, usual)
		if (err != nil) != (want == 0) || err == nil && (len(s.opened) != 1 || s.opened[0] != want) {
			t.Errorf("of at most %s: opened %v, %v; want %s", most, s.opened, err, want)
		}
		if session != nil {
			_ = session.Close(t.Context())
		}
	}
}

// TestAFormerHeartbeatStaysForAWhile: members that do not know the new one yet would report the old one as gone. Where
// others fence it goes at once: see TestNoHeartbeatIsLeft.
func TestAFormerHeartbeatStaysForAWhile(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	w := &Writer{Member: "a", Store: s, TTL: time.Second, Logger: slog.New(slog.DiscardHandler),
		Now: protocol.NewProcessClock(), Wall: time.Now}
	for life, want := range []int{1, 2, 2, 1} { // heartbeats after the first renewal of each life, and two more of the last
		key := fmt.Sprint("pulse/a/n-", min(life, 1))
		r := member.Renew{Key: key, Create: life < 2, Life: uint64(min(life, 1))}
		if _, _, out, err := w.Renew(t.Context(), r); out != outbox.Done {
			t.Fatal(out, err)
		}
		if docs, err := s.List(t.Context(), "pulse/"); err != nil || len(docs) != want {
			t.Errorf("after renewal %d there are %d heartbeats, want %d: %v", life+1, len(docs), want, err)
		}
	}
	w.Close(t.Context())
}

// TestNoHeartbeatStatesMoreThanItsSession: the owner counts on what its heartbeat states, and a session that expires
// takes the heartbeat away.
func TestNoHeartbeatStatesMoreThanItsSession(t *testing.T) {
	t.Parallel()
	const usual = 10 * time.Second
	for _, expire := range []bool{false, true} {
		s := &server{Store: memory.New().Open(), expire: expire, most: 4 * usual}
		w := &Writer{Member: "a", Store: s, TTL: usual, Logger: slog.New(slog.DiscardHandler),
			Now: protocol.NewProcessClock(), Wall: time.Now}
		states := func(life uint64, ttl, want time.Duration) {
			t.Helper()
			key := fmt.Sprint("pulse/a/n-", life)
			_, stated, out, err := w.Renew(t.Context(), member.Renew{Key: key, Create: true, Life: life, TTL: ttl})
			if err != nil || out != outbox.Done || stated != want {
				t.Errorf("expire %t, life %d: asked to state %s, it says %s, want %s: %v, %v", expire, life, ttl,
					stated, want, out, err)
			}
			d, err := s.Get(t.Context(), key)
			var text heartbeat.Text
			if err == nil {
				err = json.Unmarshal(d.Value, &text)
			}
			if got := heartbeat.StatedTTL(d.Value); err != nil || got != want ||
				(text.UsualMS != 0) != (want != usual) {
				t.Errorf("expire %t, life %d: the document states %s, usually %d ms, want %s: %v", expire, life, got,
					text.UsualMS, want, err)
			}
		}
		longer := 2 * usual
		if expire {
			longer = usual
		}
		states(1, 0, usual)
		states(1, 2*usual, longer)
		states(2, 2*usual, 2*usual)
		states(2, usual, usual)
		states(2, 2*usual, 2*usual)
		most := 8 * usual
		if expire {
			most = 4 * usual
		}
		states(3, 8*usual, most)
		if got := fmt.Sprint(s.opened); got != "[10s 20s 40s]" {
			t.Errorf("expire %t: sessions of %s", expire, got)
		}
		w.Close(t.Context())
	}
}

// meddled is a store of documents in which somebody else does something before a put, and whose answers to puts are
// lost while lose is set.
type meddled struct {
	*memory.Store
	before func()
	lose   bool
}

func (m *meddled) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if do := m.before; do != nil {
		m.before = nil
		do()
	}
	v, err := m.Store.Put(ctx, d)
	if m.lose && err == nil {
		return "", store.ErrUnknown
	}
	return v, err
}

// over writes another state over a heartbeat, or removes it for "".
func (m *meddled) over(t *testing.T, key, state string) {
	t.Helper()
	d, err := m.Get(t.Context(), key)
	if err == nil && state == "" {
		err = m.Delete(t.Context(), key, d.Version)
	} else if err == nil {
		d.Value, _ = json.Marshal(heartbeat.Text{State: state})
		_, err = m.Store.Put(t.Context(), d)
	}
	must.Succeed(t, err)
}

// TestAFenceStays: where others end a lease by a write over the heartbeat, or its removal, its owner does not write it
// again, whatever came between the requests of a renewal. A write of its own of which it did not hear is found again.
func TestAFenceStays(t *testing.T) {
	t.Parallel()
	const key = "node/a/n-0"
	for _, fence := range []string{heartbeat.Fenced, ""} {
		for name, meddle := range map[string]func(m *meddled, do func()){
			"before the renewal": func(_ *meddled, do func()) { do() },
			"between its requests": func(m *meddled, do func()) {
				m.lose, m.before = false, func() { m.over(t, key, heartbeat.Live); m.before = do }
			},
			"after one of lost answer": func(m *meddled, do func()) { m.before = do },
		} {
			m := &meddled{Store: memory.New().Open()}
			w := &Writer{
				Member: "a", Store: m, TTL: time.Second, NoSessions: true, Fenced: true,
				Logger: slog.New(slog.DiscardHandler),
				Now:    protocol.NewProcessClock(), Wall: time.Now,
			}
			renew := func(create bool) outbox.Outcome {
				_, _, out, _ := w.Renew(t.Context(), member.Renew{Key: key, Create: create})
				return out
			}
			if out := renew(true); out != outbox.Done {
				t.Fatalf("the first renewal: outcome %d", out)
			}
			m.lose = true
			if out := renew(false); out != outbox.Unknown {
				t.Fatalf("the answer was lost: outcome %d", out)
			}
			m.lose = false
			if out := renew(false); out != outbox.Done {
				t.Errorf("a write of its own was not found: outcome %d", out)
			}
			meddle(m, func() { m.over(t, key, fence) })
			if out := renew(false); out != outbox.Refused {
				t.Errorf("%s, state %q: outcome %d, want a refusal", name, fence, out)
			}
			if d, err := m.Get(t.Context(), key); heartbeat.TextOf(d.Value).State != fence || (err == nil) != (fence != "") {
				t.Errorf("%s: the heartbeat is %q, want state %q", name, d.Value, fence)
			}
			w.Close(t.Context())
			other := &Writer{Member: "a", Store: m, TTL: time.Second, NoSessions: true, Fenced: true, Logger: w.Logger,
				Now: w.Now, Wall: w.Wall}
			if _, _, out, _ := other.Renew(t.Context(), member.Renew{Key: key}); out != outbox.Refused {
				t.Errorf("%s, state %q: who has not begun it renews it: outcome %d", name, fence, out)
			}
			m.Close()
		}
	}
}

// TestALateFirstWrite: the first write of a life was given up, made once more, and comes late: when others have removed
// the heartbeat, and have taken over what its owner had. It proves nothing.
func TestALateFirstWrite(t *testing.T) {
	t.Parallel()
	const key = "node/a/n-0"
	m := &meddled{Store: memory.New().Open()}
	defer m.Close()
	w := &Writer{
		Member: "a", Store: m, TTL: time.Second, NoSessions: true, Fenced: true,
		Logger: slog.New(slog.DiscardHandler),
		Now:    protocol.NewProcessClock(), Wall: time.Now,
	}
	renew := func(create bool, want outbox.Outcome) {
		if _, _, out, err := w.Renew(t.Context(), member.Renew{Key: key, Create: create}); out != want {
			t.Errorf("create %t: outcome %d, %v; want %d", create, out, err, want)
		}
	}
	m.lose = true
	renew(true, outbox.Unknown)
	m.lose = false
	first := must.Get(m.Get(t.Context(), key))(t)
	renew(true, outbox.Done) // it finds the first write
	for range 2 {
		renew(false, outbox.Done)
	}
	m.over(t, key, "")
	must.Succeed(t, must.Err(m.Store.Put(t.Context(), store.Doc{Key: key, Value: first.Value})))
	renew(false, outbox.Refused)
}

// TestNoHeartbeatIsLeft: where others fence, nothing runs in a life that is over. Its heartbeat goes when the next one
// begins.
func TestNoHeartbeatIsLeft(t *testing.T) {
	t.Parallel()
	for _, noSessions := range []bool{false, true} {
		s := memory.New().Open()
		w := &Writer{
			Member: "a", Store: s, TTL: time.Second, NoSessions: noSessions, Fenced: true,
			Logger: slog.New(slog.DiscardHandler),
			Now:    protocol.NewProcessClock(), Wall: time.Now,
		}
		for life, key := range []string{"node/a/n-0", "node/a/n-1"} {
			if _, _, out, err := w.Renew(t.Context(),
				member.Renew{Key: key, Create: true, Life: uint64(life)}); out != outbox.Done {
				t.Fatal(out, err)
			}
			if docs, _ := s.List(t.Context(), "node/"); len(docs) != 1 || docs[0].Key != key {
				t.Errorf("without sessions %t: %+v are there, want %q", noSessions, docs, key)
			}
		}
		w.Close(t.Context())
		s.Close()
	}
}

// leaving is a store that does not answer who leaves, while away is set.
type leaving struct {
	*memory.Store
	away bool
}

func (*leaving) EndKey(docs ...string) store.EndKey { return store.EndKey{Text: docs[0]} }

func (l *leaving) Delete(ctx context.Context, key string, v store.Version) error {
	if l.away {
		return store.ErrUnavailable
	}
	return l.Store.Delete(ctx, key, v)
}

func (l *leaving) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	if l.away {
		return nil, store.ErrUnavailable
	}
	s, err := l.Store.OpenSession(ctx, ttl)
	return left{s, l}, err
}

type left struct {
	store.Session
	of *leaving
}

func (l left) EndKey(docs ...string) store.EndKey { return l.of.EndKey(docs...) }

func (l left) Close(ctx context.Context) error {
	if l.of.away {
		return store.ErrUnavailable
	}
	return l.Session.Close(ctx)
}

// guarded are the texts of what a guardian is to end.
type guarded map[string]bool

func (g guarded) Guard(k store.EndKey)   { g[k.Text] = true }
func (g guarded) Release(k store.EndKey) { delete(g, k.Text) }
func (guarded) State() string            { return "on" }

// TestAGuardianEndsWhatTheStoreDidNot: a member that leaves while the store is away leaves its heartbeat to the
// guardian, and that of the former life, which others may still look at.
func TestAGuardianEndsWhatTheStoreDidNot(t *testing.T) {
	t.Parallel()
	for _, noSessions := range []bool{false, true} {
		for _, away := range []bool{false, true} {
			s, g := &leaving{Store: memory.New().Open()}, guarded{}
			w := &Writer{
				Member: "a", Store: s, TTL: time.Second, NoSessions: noSessions, Guard: g,
				Logger: slog.New(slog.DiscardHandler),
				Now:    protocol.NewProcessClock(), Wall: time.Now,
			}
			for life, key := range []string{"pulse/a/n-0", "pulse/a/n-1"} {
				if _, _, out, err := w.Renew(t.Context(),
					member.Renew{Key: key, Create: true, Life: uint64(life)}); out != outbox.Done {
					t.Fatal(out, err)
				}
			}
			s.away = away
			w.Close(t.Context())
			if got := g["pulse/a/n-1"]; got != away || g["pulse/a/n-0"] != (away && !noSessions) {
				t.Errorf("without sessions %t, the store is away %t: the guardian knows of %v", noSessions, away, g)
			}
			_ = s.Store.Close()
		}
	}
}

// TestAnOutageEndsNoHeartbeat: a lease has run out because the store was away, and so the next life cannot begin, again
// and again. The heartbeat that others look at stays, and the guardian ends it if the process dies meanwhile; it goes
// when the next one is established. A late renewal of the former life writes nothing.
func TestAnOutageEndsNoHeartbeat(t *testing.T) {
	t.Parallel()
	s, g := &leaving{Store: memory.New().Open()}, guarded{}
	w := &Writer{Member: "a", Store: s, TTL: time.Second, Guard: g, Logger: slog.New(slog.DiscardHandler),
		Now: protocol.NewProcessClock(), Wall: time.Now}
	renew := func(life uint64) outbox.Outcome {
		key := fmt.Sprint("pulse/a/n-", life)
		_, _, out, _ := w.Renew(t.Context(), member.Renew{Key: key, Create: true, Life: life})
		return out
	}
	there := func(when string, want ...string) {
		t.Helper()
		docs, err := s.List(t.Context(), "pulse/")
		if err != nil || len(docs) != len(want) || len(g) != len(want) {
			t.Fatalf("%s: %+v are there, and the guardian knows of %v, want %q: %v", when, docs, g, want, err)
		}
		for i, key := range want {
			if docs[i].Key != key || !g[key] {
				t.Errorf("%s: %q is there, and the guardian knows of %v, want %q", when, docs[i].Key, g, key)
			}
		}
	}
	renew(0)
	s.away = true
	for range 3 {
		if out := renew(1); out != outbox.NotDone {
			t.Fatal(out)
		}
		s.away = false // also in this moment: nothing of the former life goes
		if out := renew(0); out != outbox.NotDone {
			t.Errorf("a late renewal of the former life: %v", out)
		}
		there("the next life cannot begin", "pulse/a/n-0")
		s.away = true
	}
	s.away = false
	for n := range 2 {
		if out := renew(1); out != outbox.Done {
			t.Fatal(out)
		}
		there(fmt.Sprint("renewal ", n), "pulse/a/n-0", "pulse/a/n-1")
	}
	renew(1)
	there("it is established", "pulse/a/n-1")
	w.Close(t.Context())
	s.Store.Close()
}

// TestNothingIsLeftToEnd: others have ended the heartbeat of a member that leaves, so its guardian has nothing to do.
func TestNothingIsLeftToEnd(t *testing.T) {
	t.Parallel()
	const key = "node/a/n-0"
	for _, state := range []string{heartbeat.Fenced, ""} {
		s, g := &leaving{Store: memory.New().Open()}, guarded{}
		w := &Writer{
			Member: "a", Store: s, TTL: time.Second, NoSessions: true, Fenced: true, Guard: g,
			Logger: slog.New(slog.DiscardHandler), Now: protocol.NewProcessClock(), Wall: time.Now,
		}
		if _, _, out, err := w.Renew(t.Context(), member.Renew{Key: key, Create: true}); out != outbox.Done ||
			!g[key] {
			t.Fatal(out, err, g)
		}
		(&meddled{Store: s.Store}).over(t, key, state)
		if w.Close(t.Context()); len(g) != 0 {
			t.Errorf("the heartbeat is %q: the guardian knows of %v", state, g)
		}
	}
}
