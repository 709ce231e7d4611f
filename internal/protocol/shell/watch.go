package shell

import (
	"context"
	"slices"
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// watches are the watches that are open.
type watches struct {
	prefixes []string
	log      bool
	open     map[string]context.CancelFunc // by prefix; "" is the log
}

// watch opens and ends watches until they are those that the state asks for.
func (l *loop[S]) watch(s S) {
	prefixes, log := l.m.Watched(s)
	w := &l.watches
	if log == w.log && slices.Equal(prefixes, w.prefixes) {
		return
	}
	next := make(map[string]context.CancelFunc)
	for _, prefix := range prefixes {
		next[prefix] = l.keepWatch(prefix)
	}
	if log {
		next[""] = l.keepWatch("")
	}
	for prefix, cancel := range w.open { // order-free: each is ended by itself
		if next[prefix] == nil {
			cancel()
		}
	}
	*w = watches{prefixes: slices.Clone(prefixes), log: log, open: next}
}

// keepWatch watches a prefix, or the log for "", if it is not watched yet.
func (l *loop[S]) keepWatch(prefix string) context.CancelFunc {
	if cancel := l.watches.open[prefix]; cancel != nil {
		return cancel
	}
	ctx, cancel := context.WithCancel(l.ctx)
	hints, err := openWatch(ctx, l.c.Store, prefix)
	switch {
	case err != nil:
		l.c.Logger.Warn("watch: polling instead", "prefix", prefix, "err", err)
		l.wg.Go(func() { l.poll(ctx, prefix) })
	case hints != nil:
		l.wg.Go(func() { l.forward(hints, prefix) })
	}
	return cancel
}

// openWatch watches, where the store can; no channel where it cannot.
func openWatch(ctx context.Context, s protocol.Store, prefix string) (<-chan struct{}, error) {
	if prefix == "" {
		if w, ok := s.(store.LogWatcher); ok {
			return w.WatchLog(ctx)
		}
		return nil, nil
	}
	if w, ok := s.(store.Watcher); ok {
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

func (l *loop[S]) forward(hints <-chan struct{}, prefix string) {
	for range hints {
		if !l.post(member.Hinted{Now: l.c.Clock(), Prefix: prefix}) {
			return
		}
	}
}
