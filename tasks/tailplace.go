package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// tailMostNames bounds the names that one scan looks at.
const tailMostNames = 100_000

// tailPlace is where files may be: a pattern below a directory that the member allows. Nothing outside of it is opened,
// whatever links and renames say: all goes through an os.Root.
type tailPlace struct {
	root  string
	steps []string // of the pattern, below root
	links bool     // follow those that stay below root
}

// tailFound is a regular file in a place, or a link that is not followed.
type tailFound struct {
	path, root, rel string
	info            fs.FileInfo
	link            bool
}

// tailRoots are the directories that are allowed where the member names none.
func (o Options) tailRoots() []string {
	if len(o.TailAllow) > 0 {
		return o.TailAllow
	}
	return []string{"/var/log", "/tmp"}
}

// place finds the allowed directory of a pattern, or of a path.
func (o Options) place(pattern string, links bool) (tailPlace, error) {
	steps := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for _, s := range steps {
		if s == "" || s == "." || s == ".." {
			return tailPlace{}, fmt.Errorf("%q is not a plain path: it has empty steps, . or ..", pattern)
		}
	}
	if slices.Contains([]string{"proc", "sys", "dev"}, steps[0]) {
		return tailPlace{}, fmt.Errorf("%q is in /%s, which holds no log files", pattern, steps[0])
	}
	for _, root := range o.tailRoots() {
		root = filepath.Clean(root)
		if rel, ok := strings.CutPrefix(pattern, strings.TrimSuffix(root, "/")+"/"); ok {
			return tailPlace{root: root, steps: strings.Split(rel, "/"), links: links}, nil
		}
	}
	return tailPlace{}, fmt.Errorf("this member lets tasks read below %s only", strings.Join(o.tailRoots(), ", "))
}

// beside is the place of all files in the directory of a path whose place p is.
func (p tailPlace) beside() tailPlace {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	for i, s := range p.steps {
		p.steps[i] = escape.Replace(s)
	}
	p.steps[len(p.steps)-1] = "*"
	return p
}

// files are those that match now. left is how many names may be looked at; it is counted down, below 0 where there were
// more.
func (p tailPlace) files(left *int) []tailFound {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil // it may come later
	}
	defer root.Close()
	var out []tailFound
	p.walk(root, "", p.steps, left, func(f tailFound) {
		f.path, f.root = filepath.Join(p.root, f.rel), p.root
		out = append(out, f)
	})
	return out
}

func (p tailPlace) walk(root *os.Root, dir string, steps []string, left *int, found func(tailFound)) {
	for _, name := range namesIn(root, dir, steps[0], left) {
		rel := filepath.Join(dir, name)
		info, err := root.Lstat(rel)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if !p.links {
				found(tailFound{rel: rel, link: true})
				continue
			}
			info, err = root.Stat(rel) // an error where it leads out of the root
		}
		switch {
		case err != nil:
		case len(steps) > 1 && info.IsDir():
			p.walk(root, rel, steps[1:], left, found)
		case len(steps) == 1 && info.Mode().IsRegular():
			found(tailFound{rel: rel, info: info})
		}
	}
}

// eachOnce sorts files by their paths, and leaves out those to which another pattern has led already.
func eachOnce(files []tailFound) []tailFound {
	slices.SortFunc(files, func(a, b tailFound) int { return strings.Compare(a.path, b.path) })
	return slices.CompactFunc(files, func(a, b tailFound) bool { return a.path == b.path })
}

// namesIn are the names in a directory that match one step of a pattern.
func namesIn(root *os.Root, dir, step string, left *int) []string {
	if !strings.ContainsAny(step, `*?[\`) {
		*left--
		return []string{step}
	}
	f, err := root.Open(filepath.Join(".", dir))
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for *left >= 0 && err == nil {
		var names []string
		names, err = f.Readdirnames(1000)
		*left -= len(names)
		for _, name := range names {
			if ok, _ := filepath.Match(step, name); ok { // the pattern was checked
				out = append(out, name)
			}
		}
	}
	return out
}

// open opens the file that was found, or says that another one has taken its place.
func (f tailFound) open() (*tailFile, error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(f.rel, tailOpenFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || !os.SameFile(info, f.info):
		err = fmt.Errorf("open %s: another file has taken its place: %w", f.path, fs.ErrNotExist) // the next scan sees it
	case ofTheKernel(file):
		err = fmt.Errorf("%s is no file on a disk", f.path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return followed(f.path, file, info), nil
}

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

// fileID is a file's identity on its machine; zero where the system has none.
type fileID struct{ dev, ino uint64 }

// tailMark is the stored position in one file. Inode numbers are used again, so a mark only fits a file that has the
// same bytes around it.
type tailMark struct {
	Path   string `json:"path"`
	Dev    uint64 `json:"dev"`
	Ino    uint64 `json:"ino"`
	Offset int64  `json:"offset"`
	Sum    string `json:"sum"` // of the first bytes and of those before Offset
}

// tailPosition is what is stored; v tells a later Rota what it reads.
type tailPosition struct {
	V     int        `json:"v"`
	Files []tailMark `json:"files"`
}

func (m tailMark) id() fileID { return fileID{m.Dev, m.Ino} }

// fits reports whether the file may be the one of the mark: the same inode, or the same path with enough bytes to
// compare, for a file that was restored or copied to another disk.
func (m tailMark) fits(f *tailFile) bool {
	return m.id() == f.id || m.Path == f.path && m.Offset >= window
}

// to goes to a mark, if the bytes around it are the same.
func (t *tailFile) to(m tailMark) bool {
	if m.Offset < 0 {
		return false
	}
	head, before, err := around(t.f, m.Offset)
	return err == nil && sumOf(head, before) == m.Sum && t.seek(m.Offset) == nil
}

// mark is made of what was read, not of what the file holds now: it may just have been rewritten.
func (t *tailFile) mark() tailMark {
	n := min(t.offset, window)
	return tailMark{Path: t.path, Dev: t.id.dev, Ino: t.id.ino, Offset: t.offset,
		Sum: sumOf(t.head[:n], t.settled[int64(len(t.settled))-n:])}
}

func sumOf(head, before []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write(before)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// decodeMarks reads a stored position; nil has no marks.
func decodeMarks(b []byte) ([]tailMark, error) {
	if b == nil {
		return nil, nil
	}
	var p tailPosition
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("decode position: %w", err)
	}
	if p.V != 1 {
		return nil, fmt.Errorf("decode position: version %d is not known; a newer Rota may have written it", p.V)
	}
	return p.Files, nil
}
