package lock

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	beats "github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// heartbeatPrefix is the key prefix of the heartbeats of all processes.
const heartbeatPrefix = "lock-pulse/"

// idleLife is how many TTLs an unneeded heartbeat is kept.
const idleLife = 3

// errIdle ends an unneeded heartbeat.
var errIdle = errors.New("nothing is held or waited for")

// keeper keeps the heartbeat of this process alive, from its first write until its lease expires. It is never resumed:
// a later one has another key.
type keeper struct {
	c      *Client
	key    string
	ctx    context.Context // cancelled, with a cause, when nothing may be done under it any more
	cancel context.CancelCauseFunc
	ready  chan struct{}    // closed when the lease is valid for the first time
	over   chan struct{}    // closed when run has returned
	alarm  *time.Timer      // fires at the end of the lease
	writer heartbeatWriter  // used by run alone
	swept  protocol.Instant // used by run alone
	mu     sync.Mutex
	until  protocol.Instant // 0: no lease yet
	claims int
	idle   protocol.Instant // when the last claim left
	err    error            // of the last call
}

func newHeartbeat(c *Client) *keeper {
	p := &keeper{c: c, key: heartbeatPrefix + rand.Text() + "/alive", ready: make(chan struct{}),
		over: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.alarm = time.AfterFunc(time.Hour, p.ring)
	p.alarm.Stop()
	return p
}

// join adds a claim; false if the heartbeat is over.
func (p *keeper) join() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil || p.expired() {
		return false
	}
	p.claims++
	return true
}

// leave removes a claim.
func (p *keeper) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims--
	p.idle = p.c.o.Clock()
}

// valid reports whether the lease is valid now. Once expired, it stays so.
func (p *keeper) valid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired()
	return p.until != 0 && p.ctx.Err() == nil
}

// expired ends the heartbeat if its time is up. p.mu is held.
func (p *keeper) expired() bool {
	if p.until == 0 || p.until > p.c.o.Clock() {
		return false
	}
	p.cancel(ErrLost)
	return true
}

// ring is called when the lease may have expired.
func (p *keeper) ring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.expired() && p.ctx.Err() == nil {
		p.alarm.Reset(p.until.Sub(p.c.o.Clock()))
	}
}

// extend makes the lease valid until an instant, unless it has expired.
func (p *keeper) extend(until protocol.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expired() || p.ctx.Err() != nil || until <= p.until {
		return
	}
	first := p.until == 0
	p.until = until
	p.alarm.Reset(until.Sub(p.c.o.Clock()))
	if first {
		close(p.ready)
	}
}

func (p *keeper) trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *keeper) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// tired ends the heartbeat if it has been unneeded for long, and reports whether it did.
func (p *keeper) tired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims > 0 || p.until == 0 || p.c.o.Clock().Sub(p.idle) < idleLife*p.c.o.TTL {
		return false
	}
	p.cancel(errIdle)
	return true
}

// retire ends the heartbeat, waits for run to end, and removes the document.
func (p *keeper) retire(ctx context.Context, why error) {
	p.cancel(why)
	<-p.over
	p.writer.close(ctx, p.c)
}

// run renews the heartbeat until its lease expires.
func (p *keeper) run() {
	defer close(p.over)
	defer p.alarm.Stop()
	p.writer.key = p.key
	var ev lifeEvent = lifeWoken{p.c.o.Clock()}
	l := life{ttl: p.c.o.TTL}
	for p.ctx.Err() == nil {
		var fx lifeEffect
		if l, fx = l.step(ev); !l.over {
			p.extend(l.validUntil())
		}
		switch fx := fx.(type) {
		case beat:
			ev = p.beat(fx.version)
		case feel:
			ev = p.feel()
		case rest:
			ev = p.rest(fx.until)
		case lapse:
			p.cancel(ErrLost)
		}
	}
	if cause := context.Cause(p.ctx); errors.Is(cause, ErrLost) || errors.Is(cause, errIdle) {
		p.c.o.Logger.Debug("a heartbeat of locks has ended", "key", p.key, "cause", cause)
		ctx, cancel := context.WithTimeout(p.c.ctx, p.c.patience())
		defer cancel()
		p.writer.close(ctx, p.c)
	}
}

func (p *keeper) beat(version store.Version) lifeEvent {
	ctx, cancel := context.WithTimeout(p.ctx, p.c.o.TTL/3) // so that there is time for another one
	defer cancel()
	sent := p.c.o.Clock()
	v, out, err := p.writer.write(ctx, p.c, version)
	p.note(err)
	return beaten{now: p.c.o.Clock(), sent: sent, outcome: out, version: v}
}

func (p *keeper) feel() lifeEvent {
	ctx, cancel := context.WithTimeout(p.ctx, p.c.o.TTL/3)
	defer cancel()
	d, err := p.c.store.Get(ctx, p.key)
	gone := errors.Is(err, store.ErrNotFound)
	if err == nil {
		p.writer.version = d.Version
	}
	p.note(err)
	return felt{now: p.c.o.Clock(), version: d.Version, failed: err != nil && !gone}
}

func (p *keeper) rest(until protocol.Instant) lifeEvent {
	timer := time.NewTimer(max(0, until.Sub(p.c.o.Clock())))
	defer timer.Stop()
	select {
	case <-timer.C:
		if !p.tired() {
			p.sweep()
		}
	case <-p.writer.ended():
		return beaten{now: p.c.o.Clock(), outcome: ended}
	case <-p.ctx.Done():
	}
	return lifeWoken{p.c.o.Clock()}
}

// sweep removes the heartbeats of processes that died while they held nothing, if sessions do not remove them. A
// process observed at the same version for four silences is dead; the version in the call ensures that it has not
// changed since.
func (p *keeper) sweep() {
	now, every := p.c.o.Clock(), sweepEvery*p.c.o.TTL
	if p.writer.with.Session != nil || p.swept != 0 && now.Sub(p.swept) < every {
		return
	}
	p.swept = now
	ctx, cancel := context.WithTimeout(p.ctx, p.c.o.TTL/3)
	defer cancel()
	docs, err := p.c.store.List(ctx, heartbeatPrefix)
	if err != nil {
		p.c.o.Logger.Debug("list the heartbeats of locks", "err", err)
		return
	}
	for _, d := range p.c.strays(docs, now) {
		if err := p.c.store.Delete(ctx, d.Key, d.Version); err != nil {
			p.c.o.Logger.Debug("remove a heartbeat that is not renewed", "key", d.Key, "err", err)
		}
	}
}

// sweepEvery is how many TTLs lie between two sweeps.
const sweepEvery = 10

// heartbeatWriter writes the document of a heartbeat: through a session if the store has them, so that it is removed
// with the process.
type heartbeatWriter struct {
	key     string
	begun   bool
	with    beats.Life
	version store.Version // of the last write that was acknowledged or seen
}

func (w *heartbeatWriter) write(ctx context.Context, c *Client, version store.Version) (store.Version, outcome, error) {
	if err := w.begin(ctx, c); err != nil {
		return "", outcomeOf(err), err
	}
	value, err := json.Marshal(heartbeat.Text{Owner: c.o.Owner, AtMS: time.Now().UnixMilli()}.States(c.o.TTL, c.o.TTL))
	if err != nil {
		return "", notDone, err
	}
	put := c.store.Put
	if w.with.Session != nil {
		put = w.with.Session.Put
	}
	v, err := put(ctx, store.Doc{Key: w.key, Value: value, Version: version})
	if err == nil {
		w.version = v
	}
	return v, outcomeOf(err), err
}

func (w *heartbeatWriter) begin(ctx context.Context, c *Client) (err error) {
	if !w.begun {
		w.with, err = beats.Begin(ctx, c.store, !c.o.NoSessions, c.o.Guard, c.o.TTL, c.o.TTL, w.key)
		w.begun = err == nil
	}
	return err
}

// ended is closed when the session has ended; nil without one.
func (w *heartbeatWriter) ended() <-chan struct{} {
	if w.with.Session == nil {
		return nil
	}
	return w.with.Session.Done()
}

// close removes the heartbeat, if it can; otherwise others will find it silent.
func (w *heartbeatWriter) close(ctx context.Context, c *Client) {
	if !w.begun {
		return
	}
	var err error
	if w.with.Session == nil && w.version != "" {
		err = c.store.Delete(ctx, w.key, w.version)
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		err = w.with.Close(ctx, c.o.Guard)
	}
	w.begun, w.with, w.version = false, beats.Life{}, ""
	if err != nil {
		c.o.Logger.Debug("remove a heartbeat", "key", w.key, "err", err)
	}
}

// outcomeOf returns the outcome of a change by its error.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, store.ErrUnknown):
		return unknown
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return refused
	case errors.Is(err, store.ErrSession), errors.Is(err, store.ErrClosed):
		return ended
	}
	return notDone
}
