package directory

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/rota-run/rota/source"
)

const (
	// debounce is how long it must be quiet before a burst of changes is read,
	debounce = 200 * time.Millisecond
	// patience how long it may go on.
	patience = time.Second
)

// watcher gives a hint a little after something in the directories changed. Where that cannot be watched only the
// rescans find it. Files of a program are not watched: the watches of a system would stop virtual time for nothing.
type watcher struct {
	fs    *fsnotify.Watcher // nil where the system has no watches, or there are no directories
	hints chan struct{}
	mu    sync.Mutex
	since changes // since they were last taken
	done  chan struct{}
	log   *slog.Logger
	whole bool // all directories are watched
}

func newWatcher(dirs []string, log *slog.Logger) *watcher {
	w := &watcher{hints: make(chan struct{}, 1), done: make(chan struct{}), log: log}
	if len(dirs) == 0 {
		close(w.done)
		return w
	}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("watch directories: scanning now and then instead", "err", err)
		close(w.done)
		return w
	}
	w.fs = fs
	go w.forward()
	return w
}

// follow watches directories that are not watched yet, and reports whether there were any: what changed in them between
// the scan that found them and this instant, nobody has told. Those that are gone need no care: their watches went with
// them.
func (w *watcher) follow(folders []string) (added bool) {
	if w.fs == nil {
		return false
	}
	watched := make(map[string]bool)
	for _, f := range w.fs.WatchList() {
		watched[f] = true
	}
	before := w.whole
	w.whole = true
	var failure error
	for _, f := range folders {
		if watched[f] {
			continue
		}
		if err := w.fs.Add(f); err != nil {
			w.whole, failure = false, errors.Join(failure, err)
			break // most likely there are too many: the others would fail too
		}
		added = true
	}
	if before && failure != nil {
		w.log.Warn("watch directories: scanning now and then instead", "err", failure)
	}
	return added
}

// followDirs watches directories before they are scanned for the first time. Then the scan need not be repeated, unless
// it finds folders in them.
func (w *watcher) followDirs(dirs []string) {
	folders := make([]string, len(dirs))
	for i, dir := range dirs {
		folders[i] = filepath.Clean(dir) // as a scan names it
	}
	w.follow(folders)
}

func (w *watcher) note(c changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since.join(c)
}

// take returns what has changed since the last time.
func (w *watcher) take() changes {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.since
	w.since = changes{}
	return c
}

// close ends the watches; when it returns no goroutine is left.
func (w *watcher) close() {
	if w.fs != nil {
		if err := w.fs.Close(); err != nil {
			w.log.Debug("close a watch", "err", err)
		}
	}
	<-w.done
}

// forward turns events into hints until the watches are closed.
func (w *watcher) forward() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var first time.Time // of the burst; zero when it is quiet
	for {
		select {
		case ev, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if !matters(ev) {
				continue
			}
			w.note(changes{names: map[string]bool{ev.Name: true}})
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			w.log.Debug("watch directories", "err", err)
			w.note(changes{all: true}) // events may be lost
		case <-timer.C:
			first = time.Time{}
			select {
			case w.hints <- struct{}{}:
			default:
			}
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		timer.Reset(min(debounce, max(0, patience-time.Since(first))))
	}
}

// matters reports whether an event can change what a scan finds. Writing to other files cannot; making and renaming
// them can: a hidden link may be where visible ones lead.
func matters(ev fsnotify.Event) bool {
	return ev.Has(fsnotify.Create) || ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) || source.Extension(ev.Name)
}
