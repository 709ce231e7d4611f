package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Run implements protocol.Member: it takes part until ctx ends, then leaves gracefully, within Config.LeaveTimeout.
func (r *Member[S]) Run(ctx context.Context) error {
	calls, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	l := &loop[S]{Member: r, ctx: calls}
	err := l.run(ctx)
	close(r.over)
	cancel(ErrStopped)
	l.wg.Wait()
	last, end := context.WithTimeout(context.Background(), r.c.TTL/3)
	defer end()
	r.m.Caller.Close(last)
	close(r.out)
	return err
}

// LongerTTL is what a member logs whose TTL is longer than usual; the attribute ttl is how long.
const LongerTTL = "renewals are slow: the TTL is longer than usual"

// loop does the effects of one Run.
type loop[S State] struct {
	*Member[S]
	ctx     context.Context // of store calls
	wg      sync.WaitGroup
	wake    *time.Timer
	watched []string                      // prefixes; "" is the log
	watches map[string]context.CancelFunc // that are open, by prefix
	bad     map[string]string             // documents that were refused, and why
	lostAt  time.Time
	ttlMS   int64 // that was last told; 0: the usual one
	err     error
	done    bool
}

func (l *loop[S]) run(ctx context.Context) error {
	l.wake = time.NewTimer(0)
	defer l.wake.Stop()
	state := l.m.Start
	l.watch(state)
	stopping, deadline := ctx.Done(), (<-chan time.Time)(nil)
	for !l.done {
		var ev member.Event
		select {
		case ev = <-l.inbox:
		case <-l.wake.C:
			ev = member.Woken{Now: l.c.Clock()}
		case <-stopping:
			stopping, deadline = nil, time.After(l.c.LeaveTimeout)
			reason := member.Gracefully
			if _, ok := errors.AsType[*protocol.EvictedError](context.Cause(ctx)); ok {
				reason = member.Evicted
			}
			ev = member.Stop{Now: l.c.Clock(), Reason: reason}
		case <-deadline:
			return fmt.Errorf("leave the cluster: not done within %s: the others will notice by the heartbeat",
				l.c.LeaveTimeout)
		}
		fx := l.m.Step(&state, ev)
		l.mu.Lock()
		l.state = state
		l.mu.Unlock()
		l.watch(state)
		l.paced(state.Status().TTLMS)
		for _, e := range fx {
			l.do(e)
		}
	}
	return l.err
}

func (l *loop[S]) do(e member.Effect) {
	switch e := e.(type) {
	case member.WakeAt:
		l.wake.Reset(max(0, e.At.Sub(l.c.Clock())))
	case member.Assign:
		l.assign(e.Assignment)
	case member.Reply:
		if reply, ok := l.waiting.LoadAndDelete(e.ID); ok {
			reply.(chan member.Reply) <- e
		}
	case member.Left:
		l.done = true
	case member.Halt:
		l.done, l.err = true, e.Err
	case member.Applying:
		l.applied(e)
	case member.Joining:
		l.c.Logger.Info("joined", "incarnation", uint64(e.Incarnation))
		if l.c.Events.Joined != nil {
			l.c.Events.Joined(e.Incarnation)
		}
	case member.Removing:
		l.c.Logger.Info("removed from the cluster; joining again", "reason", e.Reason)
		if l.c.Events.Removed != nil {
			l.c.Events.Removed(e.Reason)
		}
	case member.Refusing:
		l.refused(e)
	case member.StoreChanged:
		l.storeChanged(e.Err)
	default:
		l.call(e)
	}
}

// call makes a store call on a goroutine of its own and posts its answer.
func (l *loop[S]) call(e member.Effect) {
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, l.m.Caller.Timeout(e))
		defer cancel()
		if ev := l.m.Caller.Call(ctx, e); ev != nil {
			l.post(ev)
		}
	})
}

// assign keeps the newest assignment in the channel. Only this goroutine sends.
func (l *loop[S]) assign(a protocol.Assignment) {
	select {
	case <-l.out:
	default:
	}
	l.out <- a
}

// applied reports what this member's own commands did, and that there is a newer value.
func (l *loop[S]) applied(e member.Applying) {
	ev := l.c.Events
	if ev.Did != nil {
		if deeds := append(l.own(e.Entries), e.Deeds...); len(deeds) > 0 {
			ev.Did(e.Value, deeds)
		}
	}
	if ev.Changed != nil {
		ev.Changed(e.Value)
	}
}

// own are the commands of this start of the member.
func (l *loop[S]) own(entries []protocol.Applied) (out []protocol.Deed) {
	for _, a := range entries {
		if a.Duplicate || a.Entry.Writer != l.p.Writer() {
			continue
		}
		for i, c := range a.Entry.Commands {
			out = append(out, protocol.Deed{Command: c, Result: a.Results[i], AtMS: a.Entry.AtMS, Index: a.Entry.Index})
		}
	}
	return out
}

// refused reports each document that cannot be what it should be once.
func (l *loop[S]) refused(e member.Refusing) {
	if l.bad[e.Key] == e.Reason {
		return
	}
	if l.bad == nil || len(l.bad) > 1000 {
		l.bad = make(map[string]string)
	}
	l.bad[e.Key] = e.Reason
	l.c.Logger.Warn("refused", "key", e.Key, "reason", e.Reason)
	if l.c.Events.Refused != nil {
		l.c.Events.Refused(e.Key, e.Reason)
	}
}

// paced says that the TTL is another one than before.
func (l *loop[S]) paced(ttlMS int64) {
	switch ttlMS {
	case l.ttlMS:
		return
	case 0:
		l.c.Logger.Info("renewals are quick again: the TTL is as usual", "ttl", l.c.TTL)
	default:
		l.c.Logger.Info(LongerTTL, "ttl", time.Duration(ttlMS)*time.Millisecond)
	}
	l.ttlMS = ttlMS
}

func (l *loop[S]) storeChanged(problem string) {
	if problem != "" {
		l.lostAt = time.Now()
		l.c.Logger.Warn("the store does not answer", "err", problem)
		if l.c.Events.StoreLost != nil {
			l.c.Events.StoreLost(errors.New(problem))
		}
		return
	}
	away := time.Since(l.lostAt)
	l.c.Logger.Warn("the store answers again", "after", away)
	if l.c.Events.StoreBack != nil {
		l.c.Events.StoreBack(away)
	}
}

// watch opens and ends watches until they are those that the state asks for.
func (l *loop[S]) watch(s S) {
	prefixes, log := l.m.Watched(s)
	if log {
		prefixes = append(slices.Clip(prefixes), "")
	}
	if slices.Equal(prefixes, l.watched) {
		return
	}
	next := make(map[string]context.CancelFunc)
	for _, prefix := range prefixes {
		next[prefix] = l.keepWatch(prefix)
	}
	for prefix, cancel := range l.watches { // order-free: each is ended by itself
		if next[prefix] == nil {
			cancel()
		}
	}
	l.watched, l.watches = slices.Clone(prefixes), next
}

// keepWatch watches a prefix, or the log for "", if it is not watched yet.
func (l *loop[S]) keepWatch(prefix string) context.CancelFunc {
	if cancel := l.watches[prefix]; cancel != nil {
		return cancel
	}
	ctx, cancel := context.WithCancel(l.ctx)
	hints, err := openWatch(ctx, l.c.Store, prefix)
	switch {
	case err != nil:
		l.c.Logger.Warn("watch: polling instead", "prefix", prefix, "err", err)
		l.wg.Go(func() { l.poll(ctx, prefix) })
	case hints != nil:
		l.wg.Go(func() {
			for range hints {
				if !l.post(member.Hinted{Now: l.c.Clock(), Prefix: prefix}) {
					return
				}
			}
		})
	}
	return cancel
}

// openWatch watches, where the store can; no channel where it cannot.
func openWatch(ctx context.Context, s protocol.Store, prefix string) (<-chan struct{}, error) {
	if w, ok := s.(store.LogWatcher); ok && prefix == "" {
		return w.WatchLog(ctx)
	}
	if w, ok := s.(store.Watcher); ok && prefix != "" {
		return w.Watch(ctx, prefix)
	}
	return nil, nil
}

// poll hints by the clock.
func (l *loop[S]) poll(ctx context.Context, prefix string) {
	tick := time.NewTicker(l.p.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !l.post(member.Hinted{Now: l.c.Clock(), Prefix: prefix}) {
			return
		}
	}
}
