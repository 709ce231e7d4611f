package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/store"
)

// tailWait is how long a broker may keep a request that waits for a record.
const tailWait = 5 * time.Second

// hints are the watchers of new records of a topic. One goroutine waits for records at the broker, as long as there are watchers.
type hints struct {
	topic *topic

	mu   sync.Mutex
	ears map[chan struct{}]struct{}
	stop context.CancelFunc // of the goroutine; nil: it does not run
}

func newHints(t *topic) *hints { return &hints{topic: t, ears: make(map[chan struct{}]struct{})} }

// WatchLog implements store.LogWatcher.
func (g *topicLog) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	if err := g.line.enter(ctx); err != nil {
		return nil, fmt.Errorf("watch log: %w", err)
	}
	ear := make(chan struct{}, 1)
	ear <- struct{}{}
	if !g.hints.add(ear) {
		return nil, fmt.Errorf("watch log: %w", store.ErrClosed)
	}
	ended, end := context.WithCancel(g.line.life)
	context.AfterFunc(ctx, end)
	context.AfterFunc(ended, func() { g.hints.remove(ear) })
	return ear, nil
}

func (h *hints) add(ear chan struct{}) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		ctx, stop := context.WithCancel(h.topic.line.life)
		if !h.topic.line.begin(func() { h.run(ctx) }) {
			stop()
			return false
		}
		h.stop = stop
	}
	h.ears[ear] = struct{}{}
	return true
}

func (h *hints) remove(ear chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.ears[ear]; ok {
		delete(h.ears, ear)
		close(ear)
	}
	if len(h.ears) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

func (h *hints) give() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ear := range h.ears {
		select {
		case ear <- struct{}{}:
		default:
		}
	}
}

// run waits at the broker again and again. After a failure it gives a hint, since it may have missed one.
func (h *hints) run(ctx context.Context) {
	client, err := h.topic.line.newTail()
	if err != nil {
		h.topic.line.log.Error("watch a topic", "topic", h.topic.name, "err", err)
		return
	}
	defer client.Close()
	tail := &topic{line: h.topic.line, name: h.topic.name, id: h.topic.id}
	tail.leader.Store(noLeader)
	for at, failed := int64(-1), 0; ctx.Err() == nil; {
		next, err := tail.await(ctx, client, at)
		switch {
		case err != nil && ctx.Err() == nil:
			failed++
			at = -1
			_ = pause(ctx, backoff(failed)) // the loop looks at ctx
		case next != at || failed > 0:
			h.give()
			at, failed = next, 0
		}
	}
}

// await waits until the topic has a record at an offset, and returns the end that it has then; below 0: the end of now.
func (t *topic) await(ctx context.Context, c *kgo.Client, at int64) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tailWait+t.line.timeout, errTimeout)
	defer cancel()
	if at < 0 {
		return t.end(ctx, latest)
	}
	f, err := t.fetch(ctx, c, at, 1, int32(tailWait.Milliseconds()))
	if errors.Is(err, errAway) {
		return t.end(ctx, latest)
	}
	return max(f.high, at), err
}
