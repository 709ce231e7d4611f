package protocoltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// busyTTL is the TTL of the members of a busy store.
const busyTTL = 2 * time.Second

// busy is a handle of a store that takes one heartbeat after the other, each of which takes a while.
type busy struct {
	*memory.Store
	queue *queue
}

// queue is where heartbeats wait for their turn.
type queue struct {
	turn chan struct{}
	mu   sync.Mutex
	cost time.Duration
}

// takes sets how long a heartbeat takes.
func (q *queue) takes(cost time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cost = cost
}

// wait waits for a turn, and for as long as the heartbeat takes.
func (q *queue) wait(ctx context.Context) error {
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
	}
	q.mu.Lock()
	cost := q.cost
	q.mu.Unlock()
	time.Sleep(cost) // waits: the time that the call takes, which is virtual
	<-q.turn
	return nil
}

// write makes a write, which waits if it is of a heartbeat.
func (b *busy) write(ctx context.Context, d store.Doc,
	put func(context.Context, store.Doc) (store.Version, error)) (store.Version, error) {
	if isHeartbeat(d.Key) {
		if err := b.queue.wait(ctx); err != nil {
			return "", err
		}
	}
	v, err := put(context.WithoutCancel(ctx), d)
	if ctx.Err() != nil {
		return "", errors.Join(store.ErrUnknown, context.Cause(ctx))
	}
	return v, err
}

// Put implements store.Docs.
func (b *busy) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return b.write(ctx, d, b.Store.Put)
}

// OpenSession implements store.Sessions.
func (b *busy) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := b.Store.OpenSession(ctx, ttl)
	return &busySession{s, b}, err
}

// Heartbeat implements store.Group.
func (b *busy) Heartbeat(ctx context.Context, s store.Seat) error {
	if err := b.queue.wait(ctx); err != nil {
		return err
	}
	return b.Store.Heartbeat(ctx, s)
}

type busySession struct {
	store.Session
	b *busy
}

// Put implements store.Session.
func (s *busySession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return s.b.write(ctx, d, s.Session.Put)
}

// Load is how a store becomes busy.
type Load struct {
	Beats      int  // heartbeats of a member in a TTL
	Times      int  // how many times as long as it has they take all together
	Returns    bool // members renew as usual again without joining again
	NoSessions bool
}

// Busy tells the story of eight members on a store that becomes too busy for all their heartbeats. They must renew
// slower and all stay, in place of losing their leases again and again; and renew as usual when the store has been
// quick for long enough.
func (b Load) Busy(t *testing.T, p protocol.Protocol) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const members = 8
		server, clock, q := memory.New(), protocol.NewProcessClock(), &queue{turn: make(chan struct{}, 1)}
		w := newWorld(t, Setup{Virtual: true, TTL: busyTTL,
			Open: func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) Handle {
				return func(t *testing.T, id cluster.MemberID, ttl time.Duration) Handle {
					t.Helper()
					s := &busy{server.Open(), q}
					m, err := p.New(protocol.Config{Member: id, Store: s, TTL: ttl, NoSessions: b.NoSessions,
						Clock:  clock,
						Events: logged(t, id)})
					if err != nil {
						t.Fatal(err)
					}
					return Handle{Member: m, Clock: clock, Crash: func() { _ = s.Close() }}
				}
			}})
		want := map[cluster.MemberID]int{}
		for i := range members {
			id := cluster.MemberID(fmt.Sprintf("m%d", i))
			w.start(id)
			want[id] = 2
		}
		w.tasks("m0", 2*members)
		w.shares(want)
		q.takes(busyTTL * time.Duration(b.Times) / time.Duration(members*b.Beats))
		w.calm(10*time.Minute, members, func(longer int) bool { return longer > 0 })
		q.takes(0)
		w.calm(10*time.Minute, members, func(longer int) bool { return longer == 0 || !b.Returns })
		w.shares(want)
	})
}

// calm waits until all members have been joined under the same heartbeats for a minute, and as many of them state a
// longer TTL as they should.
func (w *world) calm(patience time.Duration, members int, right func(longer int) bool) {
	w.t.Helper()
	before, since, began := "", time.Now(), time.Now()
	for time.Since(began) < patience {
		time.Sleep(time.Second) // waits: between two looks, with a deadline
		now, joined := w.lives()
		if now != before || joined != members {
			before, since = now, time.Now()
		}
		if time.Since(since) >= time.Minute && right(w.longer()) {
			w.t.Logf("calm %s after it began, with a longer TTL: %d", since.Sub(began), w.longer())
			return
		}
	}
	w.t.Fatalf("not calm within %s; with a longer TTL: %d; members: %s", patience, w.longer(), before)
}

// lives are the heartbeats of all members, and how many there are.
func (w *world) lives() (string, int) {
	v := w.peers["m0"].m.Value()
	var all []string
	for m := range v.Members() {
		if m.State == cluster.MemberJoined {
			all = append(all, m.Heartbeat)
		}
	}
	return strings.Join(all, " "), len(all)
}

// longer is how many members have a longer TTL than usual.
func (w *world) longer() (n int) {
	for _, p := range w.peers { // order-free: they are counted
		if p.m.Status().TTLMS > 0 {
			n++
		}
	}
	return n
}
