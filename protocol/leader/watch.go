package leader

import (
	"context"
	"time"

	"github.com/rota-run/rota/store"
)

// watch replaces what is watched.
func (sh *shell) watch(e Watch) {
	next := make(map[string]context.CancelFunc)
	for _, prefix := range e.Prefixes {
		next[prefix] = sh.keepWatch(prefix)
	}
	if e.Log {
		next[""] = sh.keepWatch("")
	}
	for prefix, cancel := range sh.watches { // order-free: each is ended by itself
		if next[prefix] == nil {
			cancel()
		}
	}
	sh.watches = next
}

// keepWatch watches a prefix, or the log for "", if it is not watched yet.
func (sh *shell) keepWatch(prefix string) context.CancelFunc {
	if cancel := sh.watches[prefix]; cancel != nil {
		return cancel
	}
	ctx, cancel := context.WithCancel(sh.ctx)
	hints, err := sh.openWatch(ctx, prefix)
	switch {
	case err != nil:
		sh.r.c.Logger.Warn("watch: polling instead", "prefix", prefix, "err", err)
		sh.poll(ctx, prefix)
	case hints != nil:
		sh.forward(hints, prefix)
	}
	return cancel
}

func (sh *shell) openWatch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if prefix == "" {
		if w, ok := sh.r.c.Store.(store.LogWatcher); ok {
			return w.WatchLog(ctx)
		}
		return nil, nil
	}
	if w, ok := sh.r.c.Store.(store.Watcher); ok {
		return w.Watch(ctx, prefix)
	}
	return nil, nil
}

// poll hints by the clock, where a store that hints could not be brought to it.
func (sh *shell) poll(ctx context.Context, prefix string) {
	sh.wg.Go(func() {
		tick := time.NewTicker(sh.r.p.Poll)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !sh.r.post(Hinted{Now: sh.r.c.Clock(), Prefix: prefix}) {
				return
			}
		}
	})
}

func (sh *shell) forward(hints <-chan struct{}, prefix string) {
	sh.wg.Go(func() {
		for range hints {
			if !sh.r.post(Hinted{Now: sh.r.c.Clock(), Prefix: prefix}) {
				return
			}
		}
	})
}

