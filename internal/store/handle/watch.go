package handle

import "context"

// Watch implements store.Watcher.
func (h *Handle) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return h.watch(ctx, func() (<-chan struct{}, error) { return h.gated.Watch(ctx, prefix) })
}

// WatchLog implements store.LogWatcher.
func (h *Handle) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	return h.watch(ctx, func() (<-chan struct{}, error) { return h.gated.WatchLog(ctx) })
}

func (h *Handle) watch(ctx context.Context, open func() (<-chan struct{}, error)) (<-chan struct{}, error) {
	from, err := open()
	if err != nil {
		return nil, err
	}
	to := make(chan struct{}, 1)
	hint(to) // a watch holds one from the start
	go h.forward(ctx, from, to)
	return to, nil
}

// forward passes hints on while the handle is not frozen, until the watch ends.
func (h *Handle) forward(ctx context.Context, from <-chan struct{}, to chan<- struct{}) {
	defer close(to)
	for {
		select {
		case <-h.lost:
			hint(to)
			return
		case _, open := <-from:
			if !open {
				return
			}
		}
		if h.enter(ctx) == nil {
			h.mu.RUnlock()
			hint(to)
		}
	}
}

// hint leaves a hint unless one lies there already.
func hint(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
