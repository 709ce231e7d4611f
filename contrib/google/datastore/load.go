package datastore

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/datastore"
)

// task is a task as it was taken.
type task struct {
	key     *datastore.Key
	version string
	data    string
	updated int64
}

// state is what is known of the tasks, by file name. It is replaced as a whole.
type state struct {
	tasks    map[string]task
	scanned  time.Time // when all keys were read
	reloaded time.Time // when all versions were compared
}

// next reads what has changed. The first state has everything.
func (r reader) next(ctx context.Context, old *state, now time.Time) (*state, error) {
	first := old == nil
	if first {
		old = &state{}
	}
	out := &state{tasks: maps.Clone(old.tasks), scanned: old.scanned, reloaded: old.reloaded}
	if out.tasks == nil {
		out.tasks = make(map[string]task)
	}
	if !first {
		updates, err := r.since(ctx, old.newest(now).Add(-r.c.Drift).UnixMilli())
		if err != nil {
			return nil, err
		}
		out.take(updates, r.c.Filter)
	}
	if first || now.Sub(old.scanned) >= r.c.Rescan {
		all := first || now.Sub(old.reloaded) >= r.c.Reload
		if err := r.rescan(ctx, out, all); err != nil {
			return nil, err
		}
		out.scanned = now
		if all {
			out.reloaded = now
		}
	}
	return out, nil
}

// newest is the time of the newest update, but not one in the future: a clock that is ahead must not hide what others
// write.
func (s *state) newest(now time.Time) time.Time {
	newest := int64(0)
	for _, t := range s.tasks {
		if at := t.updated; at <= now.UnixMilli() {
			newest = max(newest, at)
		}
	}
	return time.UnixMilli(newest)
}

// rescan reads all keys, and then the tasks that are new, those that are missing, to be sure, and, if all are wanted,
// the others.
func (r reader) rescan(ctx context.Context, s *state, all bool) error {
	keys, err := r.keys(ctx)
	if err != nil {
		return err
	}
	var wanted []*datastore.Key
	missing := maps.Clone(s.tasks)
	for _, k := range keys {
		name := fileName(k)
		delete(missing, name)
		if _, known := s.tasks[name]; all || !known {
			wanted = append(wanted, k)
		}
	}
	for _, t := range missing {
		wanted = append(wanted, t.key)
	}
	tasks, err := r.get(ctx, wanted)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(tasks))
	for _, f := range tasks {
		there[fileName(f.key)] = true
	}
	for _, k := range wanted {
		if name := fileName(k); !there[name] {
			delete(s.tasks, name)
		}
	}
	s.take(tasks, r.c.Filter)
	return nil
}

// take takes tasks up as they are now. One whose version is the same stays as it was, but for the time.
func (s *state) take(tasks []found, filter []string) {
	for _, f := range tasks {
		name := fileName(f.key)
		if !f.has(filter) {
			delete(s.tasks, name)
			continue
		}
		now := task{key: f.key, version: f.version, data: f.data, updated: f.updated}
		if was, known := s.tasks[name]; known && was.version == now.version && now.version != "" {
			now.data = was.data
		}
		s.tasks[name] = now
	}
}

// Tasks are the task definitions of a kind as files, ID.json. Reading the directory asks Datastore for what has
// changed, at most once each Poll. All methods are safe from any goroutine.
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

// entity is a task as it is stored. It takes properties of any type: what cannot be used is malformed, and must not
// hide the other tasks.
type entity struct {
	version  string
	data     string
	updated  int64 // ms
	metadata []string
}

var _ datastore.PropertyLoadSaver = (*entity)(nil)

// Load implements datastore.PropertyLoadSaver.
func (e *entity) Load(properties []datastore.Property) error {
	*e = entity{}
	for _, p := range properties {
		switch p.Name {
		case "version":
			e.version = text(p.Value)
		case "data":
			e.data = text(p.Value)
		case "last_updated":
			switch at := p.Value.(type) {
			case int64:
				e.updated = at
			case float64:
				e.updated = int64(at)
			case time.Time:
				e.updated = at.UnixMilli()
			}
		case "metadata":
			tokens, many := p.Value.([]any)
			if !many {
				tokens = []any{p.Value}
			}
			for _, t := range tokens {
				e.metadata = append(e.metadata, text(t))
			}
		}
	}
	return nil
}

// Save implements datastore.PropertyLoadSaver: tasks are only read.
func (e *entity) Save() ([]datastore.Property, error) { return nil, nil }

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// has reports whether the metadata has all tokens.
func (e *entity) has(tokens []string) bool {
	return !slices.ContainsFunc(tokens, func(t string) bool { return !slices.Contains(e.metadata, t) })
}

// fileName is the name of the file of a task. An ID that no file can have is escaped: then it is no name of a job, and
// the fault says so.
func fileName(key *datastore.Key) string {
	id := key.Name
	if id == "" {
		id = strconv.FormatInt(key.ID, 10)
	}
	if key.Parent != nil {
		id = key.String()
	}
	id = strings.NewReplacer("%", "%25", "/", "%2F", "\\", "%5C").Replace(id)
	if strings.HasPrefix(id, ".") {
		id = "%2E" + id[1:]
	}
	return id + ".json"
}
