package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
)

// watch is one channel that somebody listens on.
type watch struct {
	prefix string
	log    bool // of the log, not of documents
	hints  chan struct{}
	stop   func() bool // forgets the watcher's ctx

	// The rest is guarded by hub.mu.
	dirty bool // to be armed
	owed  bool // and hinted, whatever is found
	left  bool // those who were told of a change may still look at it
}

// hint reports a change. hub.mu is held.
func (w *watch) hint() {
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

// Watch implements store.Watcher. It uses one of ZooKeeper's watches for each folder and each document below the prefix, and reads a document again after
// each change of it: watch only small prefixes.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return s.watch(ctx, &watch{prefix: prefix})
}

// WatchLog implements store.LogWatcher.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	return s.watch(ctx, &watch{log: true})
}

func (s *Store) watch(ctx context.Context, w *watch) (<-chan struct{}, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	w.hints = make(chan struct{}, 1)
	w.hints <- struct{}{}
	if !s.hub.add(ctx, w) {
		return nil, fmt.Errorf("watch: %w", store.ErrClosed)
	}
	return w.hints, nil
}

// arm arms all spots of a watch that are not armed.
func (w *watch) arm(h *hub) error {
	if w.log {
		return h.armLog()
	}
	docs, err := h.arm(spot{h.s.at(docsNode), true})
	if err != nil {
		return err
	}
	for _, name := range docs.names {
		if folder, ok := folderKey(name); !ok || !inside(folder, w.prefix) {
			continue
		}
		if err := h.armFolder(h.s.at(docsNode, name)); err != nil {
			return err
		}
	}
	return nil
}

// armLog also tells appenders of this handle where the log ends.
func (h *hub) armLog() error {
	n, err := h.arm(spot{path: h.s.at(logNode)})
	if err != nil {
		return err
	}
	header, err := decodeHeader(n.data)
	if err == nil {
		h.s.appender.learn(headerAt{header, n.stat.Version})
	}
	return err
}

// armFolder arms a folder and its documents. What has vanished meanwhile makes an event in its parent.
func (h *hub) armFolder(path string) error {
	folder, err := h.arm(spot{path, true})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	return parallel(h.ctx, len(folder.names), func(_ context.Context, i int) error {
		_, err := h.arm(spot{path: path + "/" + folder.names[i]})
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
}
