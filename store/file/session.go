package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// session is a lock file that this process holds.
type session struct {
	disk *disk
	id   string
	file *os.File
	once sync.Once
	done chan struct{}
}

// draftAge is how old the draft of a lock file is when surely nobody is about to name it.
const draftAge = time.Hour

func sessionName(id string) string { return path.Join(sessionsDir, id+".lock") }

var (
	_ driver.Vigils = (*rows)(nil)
	_ driver.Vigil  = (*session)(nil)
)

// Vigil implements driver.Vigils. The ttl has no meaning here: the kernel tells others of the end of a process.
func (r *rows) Vigil(ctx context.Context, _ time.Duration) (driver.Vigil, error) {
	c, err := r.hold(ctx)
	if err != nil {
		return nil, err // and not a nil *session
	}
	return c, nil
}

// EndVigil implements driver.Vigils.
func (r *rows) EndVigil(context.Context, string) error {
	return errors.New("a session of a directory ends with its process alone")
}

// hold makes a lock file.
func (d *disk) hold(ctx context.Context) (*session, error) {
	if err := d.enter(ctx); err != nil {
		return nil, err
	}
	defer d.inside.Done()
	if err := d.takeSeat(); err != nil {
		return nil, err
	}
	id := unique()
	file, err := lockedFile(d.root, id, d.options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return &session{disk: d, id: id, file: file, done: make(chan struct{})}, nil
}

// lockedFile makes the lock file. It gets its name only when it is locked, so that nobody finds it free at its start.
func lockedFile(root *os.Root, id string, o Options) (*os.File, error) {
	draft := path.Join(sessionsDir, id+".new")
	file, err := openPrivate(root, draft, os.O_EXCL, o)
	if err != nil {
		return nil, err
	}
	got, err := flock(file, true, false)
	if err == nil && !got {
		err = fmt.Errorf("lock %s: another process holds it", draft)
	}
	if err == nil {
		err = root.Rename(draft, sessionName(id))
	}
	if err != nil {
		return nil, errors.Join(err, root.Remove(draft), file.Close())
	}
	return file, nil
}

// Ended implements driver.Vigil.
func (c *session) Ended() <-chan struct{} { return c.done }

// EndKey implements driver.Vigil: the lock file. The session lasts for as long as anybody holds it open, or until End.
func (c *session) EndKey() store.EndKey { return store.EndKey{File: c.file} }

// Close implements driver.Hold.
func (c *session) Close() { c.end() }

// Swap implements driver.Hold.
func (c *session) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	if !c.alive() {
		return "", store.ErrSession
	}
	return c.disk.swap(ctx, op, c)
}

// name is the id, "" for no session.
func (c *session) name() string {
	if c == nil {
		return ""
	}
	return c.id
}

// over reports whether this session has ended; none never does.
func (c *session) over() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// alive reports whether others still see the lock; somebody may have removed the file, and then the session is over.
func (c *session) alive() bool {
	if c.over() {
		return false
	}
	held, err := c.file.Stat()
	if err != nil {
		return false
	}
	seen, err := c.disk.root.Lstat(sessionName(c.id))
	if err == nil && os.SameFile(held, seen) {
		return true
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		c.disk.log.Error("end session, since its lock file was removed", "dir", c.disk.dir, "session", c.id)
		c.end()
		return false
	}
	return true
}

// End implements driver.Hold. It cannot fail.
func (c *session) End(context.Context) error {
	c.end()
	return nil
}

// end lets go of the lock: from this moment on others see the rows as gone. It asks the writer to remove them.
func (c *session) end() {
	c.once.Do(func() {
		close(c.done)
		err := funlock(c.file) // for others: a guardian may hold the file open too
		if err = errors.Join(err, c.file.Close()); err != nil {
			c.disk.log.Warn("let go of the lock file of a session", "dir", c.disk.dir, "error", err)
		}
		c.disk.bury(c.id)
	})
}

// ended reports whether a session has ended: nobody holds its lock any more, or the file is gone. That is true for
// ever.
func (d *disk) ended(id string) bool {
	if id == "" {
		return false
	}
	file, err := d.root.Open(sessionName(id))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return free(file)
}

// free reports whether nobody holds the lock of this file. In doubt it is held.
func free(file *os.File) bool {
	got, err := flock(file, false, false)
	if err != nil || !got {
		return false
	}
	return funlock(file) == nil
}

// bury asks the writer to remove what an ended session left. It does not wait.
func (d *disk) bury(id string) {
	if d.writer == nil || !d.beginBury(id) {
		return
	}
	o := newOp(0, func(tx *tx) error { return d.buryIn(tx, id) })
	o.then = func(err error) {
		if err != nil {
			d.log.Debug("remove documents of an ended session; the next to meet them tries again", "error", err)
		}
		d.endBury(id)
	}
	_ = d.writer.submit(o) // a handle that was closed leaves it to the next
}

func (d *disk) beginBury(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.burying[id] {
		return false
	}
	d.burying[id] = true
	return true
}

func (d *disk) endBury(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.burying, id)
}

func (d *disk) buryIn(tx *tx, id string) error {
	keys, err := tx.column(`DELETE FROM docs WHERE sess = ? RETURNING key`, id)
	if err != nil {
		return err
	}
	for _, key := range keys {
		tx.changed.doc(key)
	}
	// Only when no document refers to it any more may the file go: a missing file reads as dead.
	tx.after = append(tx.after, func() {
		if err := d.root.Remove(sessionName(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.log.Debug("remove lock file of an ended session", "error", err)
		}
	})
	return nil
}

// sweep removes what sessions left that ended while nobody was there.
func (d *disk) sweep() {
	if d.writer == nil {
		return
	}
	entries, err := fs.ReadDir(d.root.FS(), sessionsDir)
	if err != nil {
		d.log.Warn("list sessions", "dir", d.dir, "error", err)
		return
	}
	for _, entry := range entries {
		id, isLock := strings.CutSuffix(entry.Name(), ".lock")
		if isLock && d.ended(id) {
			d.bury(id)
		}
		if info, err := entry.Info(); !isLock && err == nil && time.Since(info.ModTime()) > draftAge {
			if err := d.root.Remove(path.Join(sessionsDir, entry.Name())); err != nil {
				d.log.Debug("remove old draft of a lock file", "error", err)
			}
		}
	}
}
