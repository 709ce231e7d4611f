package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/rota-run/rota/work"
)

// saveTimeout bounds one save of the position; a save that failed is tried again with the next.
const saveTimeout = 3 * time.Second

// tailSession is one run of tail: the files it follows and what it has not emitted or saved yet.
type tailSession struct {
	t       *tailRunner
	g       *work.Grant
	files   []*tailFile // in the order of finding, rotated ones first
	marks   []tailMark  // of the stored position, not found again yet
	fresh   bool        // nothing was stored: the first scan begins files at from
	batch   *tailBatch
	dirty   bool // something changed since the last save
	settled time.Time
	began   time.Time
	looked  bool // for orphans
	wake    *tailWatch
	buf     []byte
	refused map[string]bool // paths that were logged as unreadable
}

func (t *tailRunner) begin(ctx context.Context, g *work.Grant) (*tailSession, error) {
	stored, err := g.LoadPosition(ctx)
	if err != nil {
		return nil, fmt.Errorf("load position: %w", err)
	}
	marks, err := decodeMarks(stored)
	if err != nil {
		return nil, err
	}
	s := &tailSession{
		t: t, g: g, marks: marks, fresh: stored == nil, batch: newTailBatch(t, g), wake: newTailWatch(g.Log),
		buf: make([]byte, 64<<10), settled: time.Now(), began: time.Now(), refused: map[string]bool{},
	}
	s.dirty = s.fresh // so that "from end" is fixed by the first save
	return s, nil
}

func (s *tailSession) close() {
	for _, f := range s.files {
		f.f.Close()
	}
	s.wake.close()
}

// scan finds files and reads what is new. It reports whether there is more to read at once.
func (s *tailSession) scan(ctx context.Context) (more bool) {
	s.find()
	now := time.Now()
	for _, f := range s.files {
		if ctx.Err() != nil {
			return false
		}
		more = s.read(f, now) || more
	}
	s.files = slices.DeleteFunc(s.files, func(f *tailFile) bool { return s.abandon(f, now) })
	return more
}

// find opens files that are new under the patterns and notes which of the followed ones have moved away.
func (s *tailSession) find() {
	for _, f := range s.files {
		f.seen = false
	}
	skipped := 0
	for _, found := range s.found() {
		if found.link {
			s.refuse(found.path, errLink)
			continue
		}
		if f := s.following(identify(found.info)); f != nil {
			f.path, f.seen = found.path, true
			continue
		}
		if len(s.files) >= tailMaxFiles {
			skipped++
			continue
		}
		s.start(found)
	}
	if skipped > 0 {
		s.batch.in("tail.skipped_files", nil).count = skipped
	}
	s.fresh = false
	for _, f := range s.files {
		f.see(time.Now())
	}
	s.orphans()
}

func (s *tailSession) following(id fileID) *tailFile {
	if i := slices.IndexFunc(s.files, func(f *tailFile) bool { return f.id == id }); i >= 0 {
		return s.files[i]
	}
	return nil
}

// found are the files that match, each once, sorted; their directories are watched.
func (s *tailSession) found() []tailFound {
	var out []tailFound
	left := tailMostNames
	for i, place := range s.t.places {
		out = append(out, place.files(&left)...)
		s.wake.add(filepath.Dir(s.t.c.Paths[i]))
	}
	if left < 0 {
		s.refuse(s.t.c.Paths[0], fmt.Errorf("the patterns lead through more than %d names; write narrower ones",
			tailMostNames))
	}
	out = eachOnce(out)
	for _, f := range out {
		s.wake.add(filepath.Dir(f.path))
	}
	return out
}

var errLink = errors.New("it is a symbolic link; links: true follows it within the directories that the member allows")

// refuse logs and counts a path once, until it can be followed.
func (s *tailSession) refuse(path string, err error) {
	if s.refused[path] || len(s.refused) >= tailMaxFiles {
		return
	}
	s.g.Log.Warn("file cannot be followed", "path", path, "error", err)
	s.batch.count("tail.unreadable_files", path, 1)
	s.refused[path] = true
}

// start follows one more file, from the stored mark if it is there.
func (s *tailSession) start(found tailFound) {
	path := found.path
	f, err := found.open()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.refuse(path, err)
		}
		return
	}
	if other := s.following(f.id); other != nil { // moved here between stat and open
		f.f.Close()
		return
	}
	delete(s.refused, path)
	switch {
	case s.resume(f):
	case s.fresh && s.t.c.From != "start":
		if err := f.toEnd(); err != nil {
			s.g.Log.Warn("file is followed from its start", "path", path, "error", err)
		}
	}
	s.files = append(s.files, f)
	s.dirty = true
}

// resume puts a file to where its stored mark says.
func (s *tailSession) resume(f *tailFile) bool {
	for i, m := range s.marks {
		if m.fits(f) && f.to(m) {
			s.marks = slices.Delete(s.marks, i, i+1)
			return true
		}
	}
	return false
}

// orphans looks for files that were rotated away while nobody followed them: beside where they were, under another
// name. It looks in the first scan and once more before it gives up: a directory may just not be mounted yet, and
// forgetting its positions would count all its lines again.
func (s *tailSession) orphans() {
	last := time.Since(s.began) >= s.t.rotateWait
	if len(s.marks) == 0 || s.looked && !last {
		return
	}
	s.looked = true
	s.marks = slices.DeleteFunc(s.marks, func(m tailMark) bool {
		if s.adopt(s.t.findRotated(m)) {
			return true
		}
		if last && m.Offset > 0 {
			s.g.Log.Warn("a followed file is gone; what was written at its end may be lost", "path", m.Path)
			s.batch.count("tail.lost_files", m.Path, 1)
		}
		return last
	})
	s.dirty = true
}

// adopt follows a file that no pattern leads to; what is older comes first.
func (s *tailSession) adopt(f *tailFile) bool {
	if f == nil {
		return false
	}
	if s.following(f.id) != nil {
		f.f.Close()
		return true
	}
	f.moved = time.Now()
	s.files = slices.Insert(s.files, 0, f)
	return true
}

// read takes what is new in one file, a burst at most.
func (s *tailSession) read(f *tailFile, now time.Time) (more bool) {
	for total := 0; total < tailBurst; {
		n, err := f.next(s.buf, s.batch)
		if err != nil {
			s.g.Log.Debug("file cannot be read", "path", f.path, "error", err)
			s.batch.count("tail.read_errors", f.path, 1)
			return false
		}
		if n == 0 {
			return false
		}
		f.grew, s.dirty = now, true
		total += n
	}
	return true
}

// abandon closes a file that was renamed and has not grown for a while. The text after its last newline will not be
// completed: it is a line.
func (s *tailSession) abandon(f *tailFile, now time.Time) bool {
	if f.moved.IsZero() || now.Sub(f.moved) < s.t.rotateWait || now.Sub(f.grew) < s.t.rotateWait {
		return false
	}
	f.finish(s.batch)
	f.f.Close()
	s.dirty = true
	return true
}

func (s *tailSession) settleWhenDue(ctx context.Context) error {
	if time.Since(s.settled) < s.t.flush {
		return nil
	}
	err := s.settle(ctx)
	switch {
	case err == nil, ctx.Err() != nil: // at the end it is saved once more
		return nil //nolint:nilerr // settling again comes with the next round
	case errors.Is(err, work.ErrToken):
		return err
	}
	s.g.Log.Warn("position is not saved; lines may be counted again after a crash", "error", err)
	s.batch.count("tail.position_errors", "", 1)
	return nil
}

// settle emits, then saves.
func (s *tailSession) settle(ctx context.Context) error {
	s.settled = time.Now()
	s.batch.flush()
	if !s.dirty {
		return nil
	}
	marks := make([]tailMark, 0, len(s.files)+len(s.marks))
	for _, f := range s.files {
		marks = append(marks, f.mark())
	}
	b, err := json.Marshal(tailPosition{V: 1, Files: append(marks, s.marks...)})
	if err != nil {
		return fmt.Errorf("encode position: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := s.g.SavePosition(ctx, b); err != nil {
		return fmt.Errorf("save position: %w", err)
	}
	s.dirty = false
	return nil
}

// wait returns when something may have changed, but not at once: a busy writer makes an event of every write.
func (s *tailSession) wait(ctx context.Context) {
	pause := tailPoll
	if s.dirty || s.batch.waiting() {
		pause = min(pause, max(0, s.t.flush-time.Since(s.settled)))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-s.wake.changed:
		timer.Reset(min(pause, tailGather))
	case <-timer.C:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
