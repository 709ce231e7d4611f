package tasks

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// window is how many bytes at the start of a file, and before a position, tell it from others.
const window = 512

// lineTaker takes whole lines, without their ends. The bytes are valid during the call only.
type lineTaker interface {
	line(path string, b []byte, long bool)
	count(name, path string, n int)
}

// tailFile is a file that is followed. It stays the same file when it is renamed.
type tailFile struct {
	path  string
	f     *os.File
	id    fileID
	moved time.Time // since when no pattern leads to it, zero if one does
	grew  time.Time // when something was last read
	seen  bool      // by the scan that goes on

	offset int64 // where the first line begins that was not taken
	read   int64 // the next byte to read; beyond offset when a line has not ended
	part   []byte
	long   bool // part was cut at tailMaxLine

	modified time.Time
	head     []byte // the first bytes of the file, as read
	before   []byte // the bytes before read
	settled  []byte // the bytes before offset
}

// followed is a file that is read from its start.
func followed(path string, f *os.File, info fs.FileInfo) *tailFile {
	return &tailFile{path: path, f: f, id: identify(info), grew: time.Now(), seen: true}
}

// see notes whether a pattern still led to the file.
func (t *tailFile) see(now time.Time) {
	switch {
	case t.seen:
		t.moved = time.Time{}
	case t.moved.IsZero():
		t.moved = now
	}
}

// next reads once and hands on the lines that ended. It returns how many bytes were new.
func (t *tailFile) next(buf []byte, to lineTaker) (int, error) {
	if err := t.checkRewritten(to); err != nil {
		return 0, err
	}
	n, err := t.f.ReadAt(buf, t.read)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	t.take(buf[:n], to)
	return n, nil
}

// checkRewritten starts again if the file was truncated and rewritten (copytruncate). A smaller size shows it, or else
// the bytes before our position.
func (t *tailFile) checkRewritten(to lineTaker) error {
	info, err := t.f.Stat()
	if err != nil {
		return err
	}
	same := info.Size() >= t.read
	// Times of change are coarse: equal ones prove nothing where there is more to read.
	if same && len(t.before) > 0 && (info.Size() > t.read || !info.ModTime().Equal(t.modified)) {
		now := make([]byte, len(t.before))
		n, err := t.f.ReadAt(now, t.read-int64(len(now)))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		same = bytes.Equal(now[:n], t.before)
	}
	t.modified = info.ModTime()
	if same {
		return nil
	}
	if t.read > t.offset {
		to.count("tail.torn_lines", t.path, 1)
	}
	*t = tailFile{path: t.path, f: t.f, id: t.id, moved: t.moved, grew: time.Now(), modified: t.modified}
	return nil
}

// take splits new bytes into lines.
func (t *tailFile) take(b []byte, to lineTaker) {
	if len(t.head) < window {
		t.head = append(t.head, b[:min(len(b), window-len(t.head))]...)
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		t.settled = lastOf(t.before, b[:i+1])
		t.offset = t.read + int64(i) + 1
	}
	t.before = lastOf(t.before, b)
	t.read += int64(len(b))
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			t.gather(b)
			return
		}
		t.gather(b[:i])
		t.end(to)
		b = b[i+1:]
	}
}

func (t *tailFile) gather(b []byte) {
	room := tailMaxLine - len(t.part)
	if len(b) > room {
		b, t.long = b[:room], true
	}
	t.part = append(t.part, b...)
}

func (t *tailFile) end(to lineTaker) {
	to.line(t.path, bytes.TrimSuffix(t.part, []byte("\r")), t.long)
	t.part, t.long = t.part[:0], false
}

// finish treats the text after the last newline as a line.
func (t *tailFile) finish(to lineTaker) {
	if t.read > t.offset {
		t.end(to)
		t.offset, t.settled = t.read, t.before
	}
}

// lastOf returns a copy of the last window bytes of a and b together.
func lastOf(a, b []byte) []byte {
	if len(b) >= window {
		return bytes.Clone(b[len(b)-window:])
	}
	a = a[max(0, len(a)+len(b)-window):]
	return append(bytes.Clone(a), b...)
}

// toEnd goes behind the last whole line.
func (t *tailFile) toEnd() error {
	info, err := t.f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	last := make([]byte, min(size, tailMaxLine))
	n, err := t.f.ReadAt(last, size-int64(len(last)))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := size
	if i := bytes.LastIndexByte(last[:n], '\n'); i >= 0 {
		at = size - int64(len(last)) + int64(i) + 1
	} else if int64(n) == size {
		at = 0 // one line that has not ended
	}
	return t.seek(at)
}

// seek sets the position and remembers what is around it.
func (t *tailFile) seek(at int64) error {
	head, before, err := around(t.f, at)
	if err != nil {
		return err
	}
	t.offset, t.read, t.part, t.long = at, at, nil, false
	t.head, t.before, t.settled = head, before, before
	return nil
}

// around reads the windows at the start of a file and before a position. A file that ends earlier is an error.
func around(f io.ReaderAt, at int64) (head, before []byte, err error) {
	n := min(at, window)
	head, before = make([]byte, n), make([]byte, n)
	if n == 0 {
		return head, before, nil
	}
	if got, err := f.ReadAt(head, 0); int64(got) < n {
		return nil, nil, err
	}
	if got, err := f.ReadAt(before, at-n); int64(got) < n {
		return nil, nil, err
	}
	return head, before, nil
}

// findRotated looks for the file of a mark under another name in its directory, nil if it is not there.
func (t *tailRunner) findRotated(m tailMark) *tailFile {
	place, err := t.allowed.place(m.Path, t.c.Links)
	if err != nil {
		return nil // it was stored under other rules
	}
	left := tailMostNames
	for _, found := range place.beside().files(&left) {
		if found.link || identify(found.info) != m.id() {
			continue
		}
		f, err := found.open()
		if err != nil {
			return nil
		}
		if f.id == m.id() && f.to(m) {
			return f
		}
		f.f.Close()
	}
	return nil
}
