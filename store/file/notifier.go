package file

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/rota-run/rota/store"
)

// watch is one that somebody waits in. Its fields but the first three are guarded by the notifier's mutex.
type watch struct {
	prefix  string
	log     bool            // of the log, not of rows
	hint    func()          // it does not block
	members map[string]bool // sessions that have rows below prefix
	stale   bool            // members must be read again
}

// touchedBy reports whether a change of the bell concerns the watch.
func (w *watch) touchedBy(before, now numbers) bool {
	if w.log {
		return before.of[logSlot] != now.of[logSlot]
	}
	return before.touches(now, w.prefix)
}

// notifier turns file events, and a look from time to time, into hints. It starts with the first watch.
type notifier struct {
	disk   *disk
	guard  time.Duration
	events *fsnotify.Watcher // nil: none to be had
	quiet  bool              // tests: no file events
	probes probes

	mu      sync.Mutex
	watches map[*watch]struct{}
	running bool
	ended   bool
	changed chan struct{} // a watch came; has room for one
	closing chan struct{}
	done    sync.WaitGroup

	// Only the goroutine uses these.
	last    numbers
	conn    *sql.Conn
	version int64
	checked numbers // what the bell showed when version was read
	renewed uint64  // and what is changed by heartbeats

	looks atomic.Int64 // tests: how often the database was asked for its version
}

func newNotifier(d *disk, o Options) *notifier {
	return &notifier{disk: d, guard: o.guard, quiet: o.noEvents, watches: make(map[*watch]struct{}),
		changed: make(chan struct{}, 1), closing: make(chan struct{}), probes: probes{disk: d}}
}

// watch calls hints until ctx or the handle ends.
func (n *notifier) watch(ctx context.Context, w *watch) error {
	if err := n.disk.enter(ctx); err != nil {
		return err
	}
	n.disk.inside.Done()
	n.mu.Lock()
	if n.ended {
		n.mu.Unlock()
		return store.ErrClosed
	}
	if !n.running {
		n.start()
	}
	w.stale = true
	n.watches[w] = struct{}{}
	n.mu.Unlock()
	w.hint()
	select {
	case n.changed <- struct{}{}:
	default:
	}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watches, w)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.closing:
		return store.ErrClosed
	}
}

// start begins the goroutine. What the bell shows is read first, so that no later change is missed. n.mu is held.
func (n *notifier) start() {
	n.running = true
	n.last, _ = n.disk.bell.look() // an error shows again in the loop
	n.events = n.listen()
	n.done.Go(n.loop)
}

// listen asks the kernel for events of the bell; without them the guard is all there is.
func (n *notifier) listen() *fsnotify.Watcher {
	if n.quiet {
		return nil
	}
	events, err := fsnotify.NewWatcher()
	if err == nil {
		if err = events.Add(filepath.Join(n.disk.dir, bellName)); err == nil {
			return events
		}
		_ = events.Close()
	}
	n.disk.log.Warn("no file events from the kernel; looking for changes from time to time", "dir", n.disk.dir, "every",
		n.guard, "error", err)
	return nil
}

// stop ends all watches and the goroutine.
func (n *notifier) stop() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	close(n.closing)
	n.done.Wait()
}

func (n *notifier) loop() {
	defer n.release()
	var events chan fsnotify.Event
	var errors chan error
	if n.events != nil {
		events, errors = n.events.Events, n.events.Errors
	}
	guard := time.NewTicker(n.guard)
	defer guard.Stop()
	for tick := -1; ; {
		select {
		case <-n.closing:
			return
		case <-n.changed:
		case <-events:
		case err := <-errors:
			n.disk.log.Warn("file events", "dir", n.disk.dir, "error", err)
		case <-when(!n.idle(), guard):
			n.checkSessions()
			if tick++; tick%versionEvery == 0 {
				n.checkVersion()
			}
		}
		n.look()
	}
}

// when is the ticker's channel if there is something to look at; a ticker that nobody waits for costs nothing.
func when(wanted bool, ticker *time.Ticker) <-chan time.Time {
	if !wanted {
		return nil
	}
	return ticker.C
}

func (n *notifier) release() {
	if n.events != nil {
		_ = n.events.Close()
	}
	if n.conn != nil {
		_ = n.conn.Close()
	}
	n.probes.closeAll()
}

func (n *notifier) idle() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.watches) == 0
}

// look reads the bell and gives hints.
func (n *notifier) look() {
	now, err := n.disk.bell.look()
	if err != nil {
		n.disk.log.Warn("read the bell", "dir", n.disk.dir, "error", err)
		n.hintAll()
		return
	}
	before := n.last
	n.last = now
	n.mu.Lock()
	for w := range n.watches {
		if w.touchedBy(before, now) {
			w.stale = true
			w.hint()
		}
	}
	n.mu.Unlock()
	n.refresh()
}

// checkVersion asks the database itself whether somebody committed, though nobody has rung the bell since it was asked
// before: it notices what a process committed that died before it could.
func (n *notifier) checkVersion() {
	version, err := n.readVersion()
	if err != nil {
		n.disk.log.Warn("read the version of the data", "dir", n.disk.dir, "error", err)
		return
	}
	n.looks.Add(1)
	now, err := n.disk.bell.look()
	if err != nil {
		return // look tells
	}
	renewed, err := n.disk.bell.renewed()
	if err != nil {
		return // it is asked again
	}
	if n.version != version && n.version != 0 && now == n.checked && renewed == n.renewed {
		n.hintAll()
	}
	n.version, n.checked, n.renewed = version, now, renewed
}

func (n *notifier) readVersion() (version int64, err error) {
	if n.conn == nil {
		if n.conn, err = n.disk.reads.Conn(background); err != nil {
			return 0, err
		}
	}
	err = n.conn.QueryRowContext(background, "PRAGMA data_version").Scan(&version)
	return version, err
}

func (n *notifier) hintAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.watches {
		w.stale = true
		w.hint()
	}
}
