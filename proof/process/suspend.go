package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rota-run/rota/protocol"
)

// pause is the time between two looks.
const pause = time.Millisecond

// Stop suspends a process with SIGSTOP and returns when none of its threads runs any more. The error says that it has
// ended, or wraps the cause of ctx.
func Stop(ctx context.Context, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend process %d: %w", pid, err)
	}
	for !still(pid) {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("wait until process %d has stopped: %w", pid, err)
		}
	}
	return nil
}

// Continue lets a suspended process run again.
func Continue(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue process %d: %w", pid, err)
	}
	return nil
}

// StopOutside is Stop at a moment at which nobody holds a lock (flock) on one of these files. While somebody does, the
// process continues.
func StopOutside(ctx context.Context, pid int, files ...string) error {
	for {
		if err := Stop(ctx, pid); err != nil {
			return err
		}
		free, err := unlocked(files)
		if err != nil || free {
			return err
		}
		if err := Continue(pid); err != nil {
			return err
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("suspend process %d outside of its locks: %w", pid, err)
		}
	}
}

func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// still reports whether all threads of a process are stopped, or gone.
func still(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		_, state, _ := strings.Cut(string(text), ") ") // the state follows the name
		if state != "" && !strings.ContainsRune("TtZX", rune(state[0])) {
			return false
		}
	}
	return true
}

// unlocked reports whether nobody holds a lock on any of the files.
func unlocked(files []string) (bool, error) {
	for _, name := range files {
		free, err := isFree(name)
		if err != nil || !free {
			return false, err
		}
	}
	return true, nil
}

func isFree(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, fmt.Errorf("look for a lock: %w", err)
	}
	defer f.Close()
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	default:
		return false, fmt.Errorf("look for a lock on %s: %w", name, err)
	}
}

// Span is the time in which this process did not run, by [protocol.Now], which all processes of a machine share.
type Span struct{ From, To int64 }

// Stalls records when the machine kept this process waiting although it wanted to run, until it is closed: a virtual
// machine that was paused, no free processor. Its methods may be called from any goroutine, Close once.
type Stalls struct {
	stop  chan struct{}
	ended chan struct{}

	mu    sync.Mutex // guards what follows
	spans []Span
	most  time.Duration
}

// The goroutine wants to run in every beat. Being late by less than worthNoting happens on any machine.
const (
	beat        = 10 * time.Millisecond
	worthNoting = 40 * time.Millisecond
)

// WatchStalls starts the watch.
func WatchStalls() *Stalls {
	w := &Stalls{stop: make(chan struct{}), ended: make(chan struct{})}
	go w.watch()
	return w
}

func now() int64 { return int64(protocol.Now()) }

func (w *Stalls) watch() {
	defer close(w.ended)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := now(); ; {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			at := now()
			w.note(last, at)
			last = at
		}
	}
}

func (w *Stalls) note(last, now int64) {
	late := time.Duration(now-last) - beat
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = max(w.most, late)
	if late >= worthNoting {
		w.spans = append(w.spans, Span{last, now})
	}
}

// Spans are the stalls of 40 ms and more, oldest first.
func (w *Stalls) Spans() []Span {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Span(nil), w.spans...)
}

// Longest is the longest of all stalls, shorter ones too.
func (w *Stalls) Longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// Since is for how long this process has not run since an instant.
func (w *Stalls) Since(from int64) (d time.Duration) {
	for _, x := range w.Spans() {
		if x.To > from {
			d += time.Duration(x.To - max(x.From, from))
		}
	}
	return d
}

// Close ends the watch. What it recorded can still be read.
func (w *Stalls) Close() {
	close(w.stop)
	<-w.ended
}
