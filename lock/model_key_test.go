package lock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// Key names a state by what can make a difference later: instants by how far they are from now, versions by which are
// the same.
func (m model) Key(s system) string {
	k := keyer{text: make([]byte, 0, 512), now: s.now, far: silenceOf(ttl) + 1}
	if m.slow {
		k.far = silenceOf(2*ttl) + 1
	}
	f := s.left
	k.small(int64(f.crash), int64(f.suspend), int64(f.late), int64(f.lost), int64(f.cancel), int64(len(s.broken)),
		k.id(versionOf(s.version)), int64(s.token), int64(s.given))
	k.table(s.table)
	for p := range m.procs {
		k.process(&s.procs[p])
	}
	for _, r := range s.late {
		k.request(r)
	}
	return string(k.text)
}

type keyer struct {
	text     []byte
	now      protocol.Instant
	far      time.Duration // longer ago is all the same
	versions []store.Version
}

func (k *keyer) id(v store.Version) int64 {
	if v == "" {
		return 0
	}
	i := slices.Index(k.versions, v)
	if i < 0 {
		i = len(k.versions)
		k.versions = append(k.versions, v)
	}
	return int64(i) + 1
}

// small adds numbers between -100 and 100, or which are as good as that; or milliseconds.
func (k *keyer) small(all ...int64) {
	for _, n := range all {
		k.text = binary.AppendVarint(k.text, n)
	}
}

func (k *keyer) bits(all ...bool) {
	n := int64(0)
	for _, b := range all {
		n *= 2
		if b {
			n++
		}
	}
	k.small(n)
}

// ago is how long ago an instant was, as far as that matters.
func (k *keyer) ago(t protocol.Instant) int64 {
	if t == 0 {
		return -1
	}
	return int64(min(k.now.Sub(t), k.far))
}

// ahead is how far an instant is ahead; not at all is all the same.
func (k *keyer) ahead(t protocol.Instant) int64 { return int64(max(t.Sub(k.now), 0)) }

func (k *keyer) table(t table) {
	k.small(int64(t.Size), int64(t.Token), int64(len(t.Holders)))
	for _, e := range t.Holders {
		k.text = append(k.text, e.ID...)
		k.small(int64(e.Token))
	}
	for _, e := range t.Waiters {
		k.text = append(k.text, e.ID...)
	}
	k.text = append(k.text, 0)
}

func (k *keyer) process(q *process) {
	k.bits(q.begun, q.dead, q.suspended, q.lapsed, q.asked, q.ended, q.life.over, q.life.doubt, q.life.created,
		q.claim.fresh, q.claim.wrote, q.claim.doubt)
	k.small(k.ahead(q.lease), k.id(versionOf(q.keeper)), k.ago(q.called))
	if q.dead {
		return
	}
	l, c := &q.life, &q.claim
	k.small(k.id(l.version), k.ago(l.Acked), k.ahead(l.Next), k.ahead(q.wakeLife))
	k.small(int64(c.phase), k.id(c.version), k.ago(c.read), k.ahead(c.rest), k.ahead(q.wakeClaim))
	if c.doubt {
		k.small(k.id(c.doubtAt))
	}
	k.table(c.table)
	for _, o := range c.seen {
		k.text = append(k.text, o.Key...)
		k.small(k.id(o.Version), k.ago(o.Since), k.ago(o.Looked), int64(min(o.Looked.Sub(o.Since), k.far)))
	}
	k.request(q.beatCall)
	k.request(q.claimCall)
}

func (k *keyer) request(r request) {
	k.text = append(k.text, r.kind...)
	k.text = append(k.text, 0)
	if r.kind == "" {
		return
	}
	k.bits(r.answered)
	k.small(int64(r.from), k.ago(r.sent), int64(r.keeper))
	if r.writes() {
		k.small(k.id(r.version))
		k.table(r.table)
	}
	switch ev := r.life.(type) {
	case beaten:
		k.small(int64(ev.outcome), k.id(ev.version))
	case felt:
		k.small(k.id(ev.version))
	}
	switch ev := r.claim.(type) {
	case tableRead:
		k.small(k.id(ev.version))
		k.table(ev.table)
	case tableWritten:
		k.small(int64(ev.outcome), k.id(ev.version))
	case heartbeatSeen:
		k.small(k.id(ev.version))
	}
}

// TestALeaseEndsOnce: by its alarm, also where that has rung too early; and an answer that comes later makes it no
// longer.
func TestALeaseEndsOnce(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"in time": false, "the alarm rings early": true} {
		synctest.Test(t, func(t *testing.T) {
			c := must.Get(NewClient(memory.New().Open(), Options{Clock: protocol.NewProcessClock()}))(t)
			p := newHeartbeat(c)
			until := c.o.Clock().Add(time.Second)
			p.extend(until)
			if early {
				p.alarm.Stop()
				p.ring()
			}
			time.Sleep(time.Second - time.Nanosecond) // waits: in virtual time
			if synctest.Wait(); p.ctx.Err() != nil || !p.valid() {
				t.Errorf("%s: it is over before its end", name)
			}
			time.Sleep(time.Nanosecond) // waits: in virtual time
			if synctest.Wait(); p.ctx.Err() == nil {
				t.Errorf("%s: nobody was told of its end", name)
			}
			if p.extend(until.Add(time.Minute)); p.valid() || p.until != until {
				t.Errorf("%s: a late answer has made it longer", name)
			}
		})
	}
	clock := protocol.Instant(1)
	p := newHeartbeat(&Client{o: Options{Clock: func() protocol.Instant { return clock }}})
	p.extend(10)
	clock = 20 // suspended: no alarm has rung
	if p.extend(30); p.until != 10 || p.ctx.Err() == nil {
		t.Errorf("an answer that came after the end of a lease: it lasts until %d", p.until)
	}
}

// watching counts how often each prefix is watched.
type watching struct {
	store.Docs
	mu    sync.Mutex
	count map[string]int
}

func (w *watching) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[prefix]++
	hints := make(chan struct{})
	context.AfterFunc(ctx, func() { close(hints) })
	return hints, nil
}

// TestWhatAClaimWatches: the table and those before it, as long as they are; one that comes back is watched again.
func TestWhatAClaimWatches(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		w := &watching{Docs: memory.New().Open(), count: make(map[string]int)}
		c := must.Get(NewClient(w, Options{Clock: protocol.NewProcessClock()}))(t)
		p := newHeartbeat(c)
		p.join()
		r := c.newClaiming(p, "locks/x/table", terms{})
		r.state.phase = waiting
		for _, keys := range [][]string{{"a/1"}, {"a/1", "b/1"}, {"b/1"}, {"a/1"}} {
			r.watch(keys)
			synctest.Wait()
		}
		if got := fmt.Sprint(w.count); got != "map[a/:2 b/:1 locks/x/:1]" || len(r.watched) != 2 {
			t.Errorf("watched %s, now %d", got, len(r.watched))
		}
		r.end(nil)
	})
}

// TestACloseDuringAGrant: who gets a lock while the client is closed finds it ended.
func TestACloseDuringAGrant(t *testing.T) {
	t.Parallel()
	c := must.Get(NewClient(memory.New().Open(), Options{Clock: protocol.NewProcessClock()}))(t)
	p := newHeartbeat(c)
	p.extend(c.o.Clock().Add(time.Hour))
	c.close(ErrClosed) // it looked for what is held before this claim was
	h := c.newClaiming(p, "locks/x/table", terms{}).hold(`lock "x"`)
	if err := h.Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("a lock of a client that was closed: %v", err)
	}
	p.alarm.Stop()
}
