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
	dirty  bool        // to be armed and hinted; guarded by hub.mu
}

// Watch implements store.Watcher. It takes one of ZooKeeper's watches for each folder and each document below the prefix, and reads a document again after
// each change of it: watch what is small.
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
		_, err := h.arm(spot{path: h.s.at(logNode)}, h.armLog)
		return err
	}
	folders, err := h.armChildren(h.s.at(docsNode))
	if err != nil {
		return err
	}
	for _, name := range folders {
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
func (h *hub) armLog(c *zk.Conn) ([]string, error) {
	data, stat, err := c.Get(h.s.at(logNode))
	if err != nil {
		return nil, err
	}
	header, err := decodeHeader(data)
	if err == nil {
		h.s.appender.learn(headerAt{header, stat.Version})
	}
	return nil, err
}

func (h *hub) armChildren(path string) ([]string, error) {
	return h.arm(spot{path, true}, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	})
}

// armFolder arms a folder and its documents. What has vanished meanwhile makes an event in its parent.
func (h *hub) armFolder(path string) error {
	names, err := h.armChildren(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	return parallel(h.ctx, len(names), func(_ context.Context, i int) error {
		doc := path + "/" + names[i]
		_, err := h.arm(spot{path: doc}, func(c *zk.Conn) ([]string, error) {
			_, _, err := c.Get(doc)
			return nil, err
		})
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
}
