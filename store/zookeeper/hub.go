package zookeeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
)

// hub holds the watches of a handle. ZooKeeper's own watches tell of one change each and are then gone. Who is told of
// a change mostly looks at what has changed, and his read arms the spot again: he sees what happened before, and of
// what comes later there will be another event. What nobody looks at is armed by the hub's goroutine some time later,
// which then gives another hint, because of what was missed meanwhile.
//
// A spot is armed once, however many watches want it, because an armed watch cannot be taken back. The library knows of
// none of them.
//
// What was found at an armed spot is known to be there until an event comes, or the connection goes: the servers send
// events in order with answers, so a read behind a barrier, on the same connection, need not ask for it again.
type hub struct {
	c    *conn
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake chan struct{} // room for one: some watch is dirty
	look time.Duration // lookTime

	mu      sync.Mutex
	running bool
	watches map[*watch]struct{}
	armed   map[spot]*arming
}

// lookTime is how long those who were told of a change have to look at it, before the hub arms what they leave.
const lookTime = 100 * time.Millisecond

// retryArming is how long to wait after an error.
const retryArming = 200 * time.Millisecond

func newHub(c *conn) *hub {
	h := &hub{c: c, wake: make(chan struct{}, 1), look: lookTime, watches: make(map[*watch]struct{}),
		armed: make(map[spot]*arming)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// watch is a watch of what begins with a prefix.
type watch struct {
	prefix string
	hint   func()     // h.mu is held
	failed chan error // holds one: it could not begin

	// The rest is guarded by hub.mu.
	begun bool // it has hinted
	dirty bool // to be armed
	owed  bool // and hinted, whatever is found
	left  bool // those who were told of a change may still look at it
}

// Watch implements driver.Documents. It uses one of ZooKeeper's watches for each folder and each row below the prefix,
// and reads a row again after each change of it: watch only small prefixes.
func (c *conn) Watch(ctx context.Context, prefix string, hint func()) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	w := &watch{prefix: prefix, hint: hint, failed: make(chan error, 1)}
	if !c.hub.add(w) {
		return store.ErrClosed
	}
	defer c.hub.end(w)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.hub.ctx.Done():
		return store.ErrClosed
	case err := <-w.failed:
		return c.lost(err)
	}
}

// add begins a watch; false if the store is closed.
func (h *hub) add(w *watch) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	if !h.running {
		h.running = true
		h.wg.Go(h.run)
	}
	h.watches[w] = struct{}{}
	w.owed = true
	h.touch(w)
	return true
}

// end ends a watch: it gives no hint any more.
func (h *hub) end(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
}

func (h *hub) close() {
	h.mu.Lock()
	h.stop()
	h.mu.Unlock()
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
	err := w.arm(h)
	if err != nil && w.begun && h.ctx.Err() == nil {
		h.c.log.Debug("arm a watch", "prefix", w.prefix, "err", err)
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
	switch {
	case err == nil && !w.owed:
		return
	case err == nil:
		w.owed = false
	case !w.begun:
		select {
		case w.failed <- err:
		default:
		}
		return
	default:
		h.touch(w)
	}
	w.begun = true
	w.hint()
}

// begin registers a read that is to arm a spot. It is before the request, since the event may come before the answer is
// seen; nil: it shall arm nothing.
func (h *hub) begin(at spot) *arming {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.armed[at] != nil {
		return nil
	}
	for w := range h.watches {
		if w.wants(h.c.o, at.path) {
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

// known is what is at a spot, if it is armed. That is as good as asking the server at the time of its last answer, so
// it is asked for after one.
func (h *hub) known(at spot) (node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.armed[at]
	if a == nil || !a.done || len(a.node.data) > mostKept {
		return node{}, false
	}
	return a.node.clone(), true
}

// arm arms spots for the goroutine, unless they are armed, and returns what was found there, now or then. What has
// vanished meanwhile makes an event in its parent.
func (h *hub) arm(spots ...spot) ([]node, error) {
	nodes, open := make([]node, len(spots)), make([]*reading, len(spots))
	var failed error
	for i, at := range spots {
		if n, ok := h.found(at); ok {
			nodes[i] = n
			continue
		}
		if open[i], failed = h.ask(h.ctx, at, h.claim(at)); failed != nil {
			break
		}
	}
	for i, r := range open {
		if r == nil || r.got == nil {
			continue
		}
		n, err := r.answer(h.ctx)
		if err != nil && !errors.Is(err, zk.ErrNoNode) && failed == nil {
			failed = err
		}
		nodes[i] = n
		if r.set {
			h.missed(spots[i])
		}
	}
	return nodes, failed
}

// missed owes a hint to each watch of a spot that was not armed for a while: they share what is armed now.
func (h *hub) missed(at spot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		if w.wants(h.c.o, at.path) {
			w.owed = true
			h.touch(w)
		}
	}
}

// claim registers a read of the goroutine. That of another one may be under way, and may fail.
func (h *hub) claim(at spot) *arming {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &arming{}
	h.armed[at] = a
	return a
}

// found is what was found at an armed spot.
func (h *hub) found(at spot) (node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.armed[at]; a != nil && a.done {
		return a.node, true
	}
	return node{}, false
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
		if w.wants(h.c.o, e.Path) {
			w.hint()
			h.leave(w)
		}
	}
}

// session handles a change of the connection. A lost connection loses its watches, and events until the next one are
// missed: all watches are armed again. h.mu is held.
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

// wants reports whether an event at a path concerns a watch: the rows that it is of, and what may have others.
func (w *watch) wants(o Options, path string) bool {
	rest, ok := strings.CutPrefix(path, o.at(rowsNode))
	if !ok || rest == "" {
		return ok
	}
	folder, name, leaf := strings.Cut(rest[1:], "/")
	dir, ok := dirOf(folder)
	if leaf {
		return ok && strings.HasPrefix(join(dir, name), w.prefix)
	}
	return ok && covers(dir, w.prefix)
}

// arm arms all spots of a watch that are not armed.
func (w *watch) arm(h *hub) error {
	top, err := h.arm(spot{h.c.o.at(rowsNode), true})
	if err != nil {
		return err
	}
	var folders, rows []spot
	for _, name := range top[0].names {
		if dir, ok := dirOf(name); ok && covers(dir, w.prefix) {
			folders = append(folders, spot{h.c.o.at(rowsNode, name), true})
		}
	}
	found, err := h.arm(folders...)
	for i, folder := range found {
		for _, name := range folder.names {
			if path := folders[i].path + "/" + name; w.wants(h.c.o, path) {
				rows = append(rows, spot{path: path})
			}
		}
	}
	for some := range slices.Chunk(rows, readsAtOnce) {
		if err == nil {
			_, err = h.arm(some...)
		}
	}
	return err
}
