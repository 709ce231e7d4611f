package beat

import (
	"context"
	"encoding/json"
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
			if d, err := m.Get(t.Context(), key); heartbeat.StateOf(d.Value) != fence || (err == nil) != (fence != "") {
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
