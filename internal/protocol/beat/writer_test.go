package beat

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

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
