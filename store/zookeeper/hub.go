package zookeeper

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// hub holds the watches of a handle. ZooKeeper's own watches tell of one change each and are then gone, so a goroutine arms them again after each event
// and then gives the hint: whoever looks after the hint sees what happened before, and of what comes later there will be another event.
//
// A spot is armed once, however many watches want it, because an armed watch cannot be taken back. The library knows of none of them.
type hub struct {
	s    *Store
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake chan struct{} // room for one: some watch is dirty

	mu      sync.Mutex
	running bool
	closed  bool
	watches map[*watch]struct{}
	armed   map[spot]*arming
}

// spot is what one of ZooKeeper's watches looks at.
type spot struct {
	path     string
	children bool // the names of its children; else its data
}

// arming is an armed spot, or one that is being armed.
type arming struct{ names []string } // of the children

// retryArming is how long to wait after an error.
const retryArming = 200 * time.Millisecond

func newHub(s *Store) *hub {
	h := &hub{s: s, wake: make(chan struct{}, 1), watches: make(map[*watch]struct{}), armed: make(map[spot]*arming)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// add begins a watch; false if the store is closed.
func (h *hub) add(ctx context.Context, w *watch) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	if !h.running {
		h.running = true
		h.wg.Go(h.run)
	}
	h.watches[w] = struct{}{}
	w.stop = context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.end(w)
	})
	h.touch(w)
	return true
}

// end closes a watch's channel, once. h.mu is held.
func (h *hub) end(w *watch) {
	if _, ok := h.watches[w]; ok {
		delete(h.watches, w)
		w.stop()
		close(w.hints)
	}
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for w := range h.watches {
		h.end(w)
	}
	h.mu.Unlock()
	h.stop()
	h.wg.Wait()
}

// touch makes the goroutine look at a watch. h.mu is held.
func (h *hub) touch(w *watch) {
	w.dirty = true
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *hub) run() {
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.wake:
		}
		for _, w := range h.dirty() {
			h.serve(w)
		}
	}
}

// dirty are the watches to look at.
func (h *hub) dirty() []*watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	var dirty []*watch
	for w := range h.watches {
		if w.dirty {
			w.dirty = false
			dirty = append(dirty, w)
		}
	}
	return dirty
}

// serve arms what a watch needs and gives the hint.
func (h *hub) serve(w *watch) {
	err := w.arm(h)
	if err != nil && h.ctx.Err() == nil {
		h.s.log.Debug("arm a watch", "prefix", w.prefix, "err", err)
		select {
		case <-h.ctx.Done():
		case <-time.After(retryArming):
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.watches[w]; !ok {
		return
	}
	if err != nil {
		h.touch(w)
	}
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

// arm arms a spot unless it is armed, and returns the names that read has found there, now or then.
func (h *hub) arm(at spot, read func(*zk.Conn) ([]string, error)) ([]string, error) {
	h.mu.Lock()
	if old := h.armed[at]; old != nil {
		h.mu.Unlock()
		return old.names, nil
	}
	a := &arming{}
	h.armed[at] = a // before the call, since the event may come before the answer is seen
	h.mu.Unlock()
	names, err := do(h.ctx, h.s.link, read)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.armed[at] != a: // it went off already, and the watch is dirty again
	case err != nil:
		delete(h.armed, at)
	default:
		h.armed[at] = &arming{names}
	}
	return names, err
}

// leaves tells whether a read shall leave a watch: the reads of spots that are being armed do, whoever makes them.
func (h *hub) leaves(at spot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.armed[at] != nil
}

// event is called by the library; it must not block.
func (h *hub) event(e zk.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e.Type {
	case zk.EventSession:
		if e.State == zk.StateHasSession {
			// What was armed went with the former connection, and what happened meanwhile was missed: all of it is armed anew.
			clear(h.armed)
			for w := range h.watches {
				h.touch(w)
			}
		}
		return
	case zk.EventNodeChildrenChanged:
		delete(h.armed, spot{e.Path, true})
	case zk.EventNodeDeleted:
		delete(h.armed, spot{e.Path, true})
		delete(h.armed, spot{e.Path, false})
	default:
		delete(h.armed, spot{e.Path, false})
	}
	for w := range h.watches {
		if w.wants(h.s, e.Path) {
			h.touch(w)
		}
	}
}

// wants tells whether an event at a path concerns a watch.
func (w *watch) wants(s *Store, path string) bool {
	rest, ok := strings.CutPrefix(path, s.o.Path+"/")
	if !ok || w.log {
		return ok && rest == logNode
	}
	rest, ok = strings.CutPrefix(rest, docsNode)
	if !ok || rest == "" {
		return ok
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	folder, ok := folderKey(name)
	return ok && inside(folder, w.prefix)
}
