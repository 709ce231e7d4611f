package tasks

import (
	"log/slog"

	"github.com/fsnotify/fsnotify"
)

// tailWatch wakes a session when something happens in a watched directory. Where events cannot be had, polling remains.
type tailWatch struct {
	changed chan struct{}
	w       *fsnotify.Watcher
	ended   chan struct{}
	added   map[string]bool
}

func newTailWatch(log *slog.Logger) *tailWatch {
	t := &tailWatch{changed: make(chan struct{}, 1), added: map[string]bool{}}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Debug("files are polled", "error", err)
		return t
	}
	t.w, t.ended = w, make(chan struct{})
	go t.run()
	return t
}

// run also empties Errors: an overflow of the queue of events means a change.
func (t *tailWatch) run() {
	defer close(t.ended)
	for {
		select {
		case _, ok := <-t.w.Events:
			if !ok {
				return
			}
		case _, ok := <-t.w.Errors:
			if !ok {
				return
			}
		}
		select {
		case t.changed <- struct{}{}:
		default:
		}
	}
}

// add watches a directory. One that is not there yet is tried again with the next scan.
func (t *tailWatch) add(dir string) {
	if t.w != nil && !t.added[dir] && t.w.Add(dir) == nil {
		t.added[dir] = true
	}
}

func (t *tailWatch) close() {
	if t.w != nil {
		_ = t.w.Close() // it was only read
		<-t.ended
	}
}
