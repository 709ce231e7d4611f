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
)

// session is a lock file that this process holds.
type session struct {
	store *Store
	id    string
	file  *os.File
	once  sync.Once
	done  chan struct{}
}

// draftAge is how old the draft of a lock file is when surely nobody is about to name it.
const draftAge = time.Hour

func sessionName(id string) string { return path.Join(sessionsDir, id+".lock") }

// SessionsExpire implements store.Sessions: a suspended process keeps its lock.
func (s *Store) SessionsExpire() bool { return false }

// OpenSession implements store.Sessions. The ttl has no meaning here: the session lasts as long as the process.
func (s *Store) OpenSession(ctx context.Context, _ time.Duration) (store.Session, error) {
	session, err := s.openSession(ctx)
	if err != nil {
		return nil, s.wrap(err, "open session")
	}
	return session, nil
}

func (s *Store) openSession(ctx context.Context) (*session, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.inside.Done()
	if s.writer == nil {
		return nil, store.ErrReadOnly
	}
	if err := s.takeSeat(); err != nil {
		return nil, err
	}
	id := unique()
	file, err := lockedFile(s.root, id, s.options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	session := &session{store: s, id: id, file: file, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(store.ErrClosed, file.Close(), s.root.Remove(sessionName(id)))
	}
	s.sessions[session] = struct{}{}
	return session, nil
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

// Put implements store.Session.
func (c *session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := c.put(ctx, d, false)
	return v, c.store.wrap(err, "put %q with session", d.Key)
}

// Renew implements store.Renewer. It does not wait for the disk, and changes no slot of the bell.
func (c *session) Renew(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := c.put(ctx, d, d.Version != "")
	return v, c.store.wrap(err, "renew %q with session", d.Key)
}

func (c *session) put(ctx context.Context, d store.Doc, renewal bool) (store.Version, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if !c.alive() {
		return "", store.ErrSession
	}
	v, err := c.store.put(ctx, d, c, renewal)
	if errors.Is(err, store.ErrClosed) {
		err = store.ErrSession
	}
	return v, err
}

// name is the id, "" for no session.
func (c *session) name() string {
	if c == nil {
		return ""
	}
	return c.id
}

func (c *session) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// alive reports whether others still see the lock; somebody may have removed the file, and then the session is over.
func (c *session) alive() bool {
	if c.ended() {
		return false
	}
	held, err := c.file.Stat()
	if err != nil {
		return false
	}
	seen, err := c.store.root.Lstat(sessionName(c.id))
	if err == nil && os.SameFile(held, seen) {
		return true
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		c.store.log.Error("end session, since its lock file was removed", "dir", c.store.dir, "session", c.id)
		c.end()
		return false
	}
	return true
}

// Done implements store.Session.
func (c *session) Done() <-chan struct{} { return c.done }

// Close implements store.Session. It cannot fail: others see the documents as gone from the moment in which the lock is
// free; they are removed from the disk soon after.
func (c *session) Close(context.Context) error {
	c.end()
	return nil
}

// end lets go of the lock and asks the writer to remove the documents.
func (c *session) end() {
	c.once.Do(func() {
		close(c.done)
		if err := funlock(c.file); err != nil { // for others: a guardian may hold the file open too
			c.store.log.Warn("unlock lock file of session", "dir", c.store.dir, "error", err)
		}
		if err := c.file.Close(); err != nil {
			c.store.log.Warn("close lock file of session", "dir", c.store.dir, "error", err)
		}
		c.store.mu.Lock()
		delete(c.store.sessions, c)
		c.store.mu.Unlock()
		c.store.bury(c.id)
	})
}

// dead reports whether a session has ended: nobody holds its lock any more, or the file is gone. Once dead, always dead.
func (s *Store) dead(id string) bool {
	if id == "" {
		return false
	}
	file, err := s.root.Open(sessionName(id))
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
func (s *Store) bury(id string) {
	if s.writer == nil || !s.beginBury(id) {
		return
	}
	o := newOp(0, func(tx *tx) error { return s.buryIn(tx, id) })
	o.then = func(err error) {
		if err != nil {
			s.log.Debug("remove documents of an ended session; the next to meet them tries again", "error", err)
		}
		s.endBury(id)
	}
	if s.writer.submit(o) != nil {
		s.endBury(id)
	}
}

func (s *Store) beginBury(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.burying[id] {
		return false
	}
	s.burying[id] = true
	return true
}

func (s *Store) endBury(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.burying, id)
}

func (s *Store) buryIn(tx *tx, id string) error {
	keys, err := tx.column(`DELETE FROM docs WHERE sess = ? RETURNING key`, id)
	if err != nil {
		return err
	}
	for _, key := range keys {
		tx.changed.doc(key)
	}
	// Only when no document refers to it any more may the file go: a missing file reads as dead.
	tx.after = append(tx.after, func() {
		if err := s.root.Remove(sessionName(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Debug("remove lock file of an ended session", "error", err)
		}
	})
	return nil
}

// sweep removes what sessions left that ended while nobody was there.
func (s *Store) sweep() {
	if s.writer == nil {
		return
	}
	entries, err := fs.ReadDir(s.root.FS(), sessionsDir)
	if err != nil {
		s.log.Warn("list sessions", "dir", s.dir, "error", err)
		return
	}
	for _, entry := range entries {
		id, isLock := strings.CutSuffix(entry.Name(), ".lock")
		if isLock && s.dead(id) {
			s.bury(id)
		}
		if info, err := entry.Info(); !isLock && err == nil && time.Since(info.ModTime()) > draftAge {
			if err := s.root.Remove(path.Join(sessionsDir, entry.Name())); err != nil {
				s.log.Debug("remove old draft of a lock file", "error", err)
			}
		}
	}
}
