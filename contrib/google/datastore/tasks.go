package datastore

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"
)

// Tasks are the task definitions of a kind as files, ID.json. Reading the directory asks Datastore for what has changed, at most once each Poll. All methods are safe from
// any goroutine.
type Tasks struct {
	r reader

	mu      sync.Mutex
	state   *state        // nil until all was read once
	files   *files        // of the state
	err     error         // of the last attempt
	tried   time.Time     // when that began
	loading chan struct{} // closed when the attempt under way has ended; nil where there is none
}

// patience is how long a reader of the directory waits for a look. After it, it uses what is known.
const patience = 2 * time.Second

var errNotYet = errors.New("ask for the tasks in Datastore: there was no answer yet")

// NewTasks returns the tasks of a place. It connects with the first look.
func NewTasks(c TasksConfig) (*Tasks, error) {
	c = c.withDefaults()
	client, err := dial(context.Background(), c.Place)
	if err != nil {
		return nil, err
	}
	return &Tasks{r: reader{client: client, c: c}}, nil
}

// Close closes the connection.
func (t *Tasks) Close() error { return t.r.client.Close() }

// Storage names the kind of storage in faults; its reader is internal/source/directory.
func (t *Tasks) Storage() string { return "datastore" }

// ReadDir implements fs.ReadDirFS.
func (t *Tasks) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	all, err := t.look()
	if err != nil {
		return nil, err
	}
	return all.list, nil
}

// Open implements fs.FS.
func (t *Tasks) Open(name string) (fs.File, error) { return t.now().open(t, name) }

// Stat implements fs.StatFS.
func (t *Tasks) Stat(name string) (fs.FileInfo, error) { return t.now().stat(name) }

func (t *Tasks) now() *files {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		return &files{}
	}
	return t.files
}

// look returns the files as they are, after a look at Datastore if it is time for one.
func (t *Tasks) look() (*files, error) {
	t.mu.Lock()
	if t.loading == nil && (t.tried.IsZero() || time.Since(t.tried) >= t.r.c.Poll) {
		t.tried, t.loading = time.Now(), make(chan struct{})
		go t.load(t.state, t.loading)
	}
	loading := t.loading
	t.mu.Unlock()
	if loading != nil {
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-loading:
		case <-limit.C:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return nil, t.err
	case t.files == nil:
		return nil, errNotYet
	}
	return t.files, nil
}

func (t *Tasks) load(old *state, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), t.r.c.Timeout)
	defer cancel()
	s, err := t.r.next(ctx, old, time.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; err == nil {
		t.state, t.files = s, s.files()
	}
	t.loading = nil
	close(done)
}
