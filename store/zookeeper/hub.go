package zookeeper

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// hub holds the watches of a handle. ZooKeeper's own watches tell of one change each and are then gone. Who is told of a change mostly looks at what has
// changed, and his read arms the spot again: he sees what happened before, and of what comes later there will be another event. What nobody looks at is
// armed by the hub's goroutine some time later, which then gives another hint, because of what was missed meanwhile.
//
// A spot is armed once, however many watches want it, because an armed watch cannot be taken back. The library knows of none of them.
//
// What was found at an armed spot is known to be there until an event comes, or the connection goes: the servers send events in order with answers, so
// a read behind a barrier, on the same connection, need not ask for it again.
type hub struct {
	s    *Store
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake chan struct{} // room for one: some watch is dirty
	look time.Duration // lookTime

	mu      sync.Mutex
	running bool
	closed  bool
	watches map[*watch]struct{}
	armed   map[spot]*arming
	made    int // armings that the goroutine has made
}

// lookTime is how long those who were told of a change have to look at it, before the hub arms what they leave.
const lookTime = 100 * time.Millisecond

// retryArming is how long to wait after an error.
const retryArming = 200 * time.Millisecond

func newHub(s *Store) *hub {
	h := &hub{s: s, wake: make(chan struct{}, 1), look: lookTime, watches: make(map[*watch]struct{}), armed: make(map[spot]*arming)}
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
	w.owed = true
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

// serve arms what a watch needs, and gives a hint if something was missed meanwhile, or may have been.
func (h *hub) serve(w *watch) {
	h.mu.Lock()
	before := h.made
	h.mu.Unlock()
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
	if err != nil || w.owed || h.made > before {
		w.owed = false
		w.hint()
	}
}

// begin registers a read that is to arm a spot. It is before the request, since the event may come before the answer is seen; nil: it shall arm nothing.
func (h *hub) begin(at spot) *arming {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.armed[at] != nil {
		return nil
	}
	for w := range h.watches {
		if w.wants(h.s, at.path) {
			h.armed[at] = &arming{}
			return h.armed[at]
		}
	}
	return nil
}

// settle notes what a registered read has found. An event that came meanwhile has taken it out.
func (h *hub) settle(at spot, a *arming, n node, err error) (made bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.armed[at] != a:
		return false
	case err != nil:
		delete(h.armed, at)
		return false
	}
	h.armed[at] = &arming{done: true, node: n}
	return true
}

// read asks the server for a spot, and arms it where a watch wants that.
func (h *hub) read(ctx context.Context, at spot) (node, error) {
	a := h.begin(at)
	n, err := do(ctx, h.s.link, at.ask)
	if a != nil {
		h.settle(at, a, n, err)
	}
	return n, err
}

// known is what is at a spot, if it is armed. That is as good as asking the server at the time of its last answer, so it is asked for after one.
func (h *hub) known(at spot) (node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.armed[at]
	if a == nil || !a.done || len(a.node.data) > mostKept {
		return node{}, false
	}
	return a.node.clone(), true
}

// arm arms a spot for the goroutine, unless it is armed, and returns what was found there, now or then.
func (h *hub) arm(at spot) (node, error) {
	h.mu.Lock()
	if a := h.armed[at]; a != nil && a.done {
		h.mu.Unlock()
		return a.node, nil
	}
	a := &arming{} // another one's that is under way may fail
	h.armed[at] = a
	h.mu.Unlock()
	n, err := do(h.ctx, h.s.link, at.ask)
	if h.settle(at, a, n, err) {
		h.mu.Lock()
		h.made++
		h.mu.Unlock()
	}
	return n, err
}

// leaves reports whether a read shall leave a watch: the reads of spots that are being armed do, whoever makes them.
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
		h.session(e.State)
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
			w.hint()
			h.leave(w)
		}
	}
}

// session handles a change of the connection. A lost connection loses its watches, and events until the next one are missed: all watches are armed again.
// h.mu is held.
func (h *hub) session(now zk.State) {
	switch now {
	case zk.StateDisconnected:
		clear(h.armed)
	case zk.StateHasSession:
		clear(h.armed)
		for w := range h.watches {
			w.owed = true
			h.touch(w)
		}
	}
}

// leave leaves it to those who were told to arm what has changed, for a while. h.mu is held.
func (h *hub) leave(w *watch) {
	if w.left {
		return
	}
	w.left = true
	time.AfterFunc(h.look, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.left = false
		h.touch(w)
	})
}

// wants reports whether an event at a path concerns a watch.
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
