package directory

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// Definition is one good file.
type Definition struct {
	ID   cluster.JobID
	Spec *cluster.JobSpec // shared, read-only
	Path string
	Sum  string // hash of the definition's meaning
}

// Scan is the result of a scan of the directories of a source.
type Scan struct {
	Definitions []Definition             // sorted by ID, each ID once
	Faults      []*source.MalformedError // sorted by text
	// Blocked are the ids of unusable files, sorted: their jobs do not change.
	Blocked []cluster.JobID
	// Complete: everything could be read. Only then a missing file means that its job must be removed.
	Complete bool
	// Unsettled: a file changed while it was read; scan again soon.
	Unsettled bool
	Ignored   int      // files with other extensions
	Empty     []string // directories of the source that are empty
	Folders   []string // all scanned directories, including those of the source

	only  map[cluster.JobID]bool // what this scan looked at again; nil: at everything
	links int                    // symbolic links, hidden ones too
}

// ScanDirs scans all directories. Paths in the result begin with the directory as given.
func ScanDirs(dirs []string, name string, types work.Types) Scan {
	return NewScanner(dirs, name, types).Scan()
}

// Scanner scans the same directories repeatedly. It reads only the files whose state changed, and parses those whose
// content did. It is not safe for concurrent use; scanners that share a [Cache] take turns.
type Scanner struct {
	dirs  []string
	files fs.FS // of the program, beside the directories; nil for none
	name  string
	types work.Types
	known *contents
	open  func(dir string) (folder, error)

	last    Scan
	paths   claims           // of the last scan
	folders map[string]place // by path, of the last scan of everything
	shared  bool             // others use the last scan too
	took    time.Duration    // the last scan of everything
	looked  time.Time        // when the last look ended; zero for none
}

// place is a directory inside one of the source's.
type place struct{ dir, name string }

// NewScanner returns a scanner; name is the source of the definitions.
func NewScanner(dirs []string, name string, types work.Types) *Scanner {
	return &Scanner{dirs: dirs, name: name, types: types, known: newContents(), open: openDisk}
}

// Scan scans everything once. The first scan of a scanner may be what another one with the same [Cache] has just
// scanned.
func (s *Scanner) Scan() Scan { return s.everything(s.looked.IsZero()) }

// everything scans everything, or where that is allowed takes what another scanner has just scanned.
func (s *Scanner) everything(others bool) Scan {
	s.known.turn.Lock()
	defer s.known.turn.Unlock()
	if w := s.known.last; others && w.current(s.looked, time.Now()) {
		return s.use(w)
	}
	w := &sweep{began: time.Now(), folders: make(map[string]place)}
	l := s.look()
	l.folders = w.folders
	for _, dir := range s.dirs {
		l.dir(dir)
	}
	if s.files != nil {
		l.program(s.files)
	}
	l.finish()
	s.known.keep(l.seen)
	w.scan, w.paths, w.ended = l.scan, l.paths, time.Now()
	s.known.last = w
	return s.use(w)
}

// program scans files that a program gives.
func (l *look) program(files fs.FS) {
	known, where := len(l.scan.Faults), programFiles
	server, ok := files.(Storage)
	if ok {
		where = server.Storage()
	}
	l.folder(given{files}, where)
	if !ok {
		return
	}
	for i, e := range l.scan.Faults[known:] {
		named := *e // other scanners of the process have the one that was read with the file
		named.Storage = where
		l.scan.Faults[known+i] = &named
	}
}

// look begins a scan.
func (s *Scanner) look() *look {
	return &look{Scanner: s, scan: Scan{Complete: true}, paths: newClaims(), folders: s.folders,
		seen: make(map[string]bool)}
}

// definition is the one of an id.
func (s *Scan) definition(id cluster.JobID) (Definition, bool) {
	i, ok := slices.BinarySearchFunc(s.Definitions, id, compareID)
	if !ok {
		return Definition{}, false
	}
	return s.Definitions[i], true
}

// filesOf are the files that define an id, well or badly.
func (s *Scanner) filesOf(id cluster.JobID) []string {
	if d, ok := s.last.definition(id); ok {
		return []string{d.Path}
	}
	return s.paths.of(id)
}

// has reports whether a file defines an id, well or badly.
func (s *Scan) has(id cluster.JobID) bool {
	_, good := s.definition(id)
	_, blocked := slices.BinarySearch(s.Blocked, id)
	return good || blocked
}

// touched are the ids to compare after this scan, sorted: those that it looked at again, and those of pending; all is
// true where it looked at everything.
func (s *Scan) touched(pending map[cluster.JobID]bool) (ids []cluster.JobID, all bool) {
	if s.only == nil {
		return nil, true
	}
	both := maps.Clone(s.only)
	maps.Copy(both, pending)
	return slices.Sorted(maps.Keys(both)), false
}

// changes are what may have changed since a scan.
type changes struct {
	all   bool
	due   bool            // everything is looked at again, though nothing says that something has changed
	names map[string]bool // paths; at most maxChanges
}

// maxChanges is how many changed files are looked at one by one.
const maxChanges = 1000

func (c *changes) add(name string) {
	if c.names == nil {
		c.names = make(map[string]bool)
	}
	c.names[name] = true
	if len(c.names) > maxChanges {
		c.everything()
	}
}

func (c *changes) everything() { c.all, c.names = true, nil }

// told reports whether something is said to have changed.
func (c *changes) told() bool { return c.all || len(c.names) > 0 }

// join adds what others are.
func (c *changes) join(others changes) {
	if c.all || others.all {
		c.everything()
		return
	}
	for name := range others.names { // order-free: a union
		c.add(name)
	}
}

// again looks at what may have changed and costs as much as that, or scans everything where that alone shows what has
// changed. The slices of the scan are valid until the next call.
func (s *Scanner) again(c changes) Scan {
	if c.all || c.due || s.looked.IsZero() || !s.last.Complete || s.files != nil {
		return s.everything(!c.told())
	}
	s.known.turn.Lock()
	scan, ok := s.some(slices.Sorted(maps.Keys(c.names)))
	s.known.turn.Unlock()
	if !ok {
		return s.everything(false)
	}
	s.looked = time.Now()
	return scan
}

// some looks at names again; false if that does not show everything that has changed.
func (s *Scanner) some(names []string) (Scan, bool) {
	only, files := make(map[cluster.JobID]bool), make(map[string]bool)
	for _, name := range names {
		switch matter, all := s.matters(name); {
		case all:
			return Scan{}, false
		case matter:
			only[source.ID(filepath.ToSlash(name))], files[name] = true, true
		}
	}
	for id := range only { // order-free: a union
		for _, p := range s.filesOf(id) {
			files[p] = true
		}
	}
	l := s.look()
	l.again = true
	if !l.files(files) || !l.scan.Complete || l.gone > tooMany { // perhaps the directory is suddenly empty
		return Scan{}, false
	}
	l.finish()
	s.merge(l, only)
	return s.last, true
}

// matters reports whether a name that was created, changed or removed concerns one definition, or perhaps more than
// one.
func (s *Scanner) matters(name string) (one, all bool) {
	if _, known := s.folders[filepath.Dir(name)]; !known {
		return false, true
	}
	if _, folder := s.folders[name]; folder {
		return false, true
	}
	info, err := os.Lstat(name)
	if err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
		return false, true
	}
	if strings.HasPrefix(filepath.Base(name), ".") || !source.Extension(name) {
		return false, s.last.links > 0 // it may be where a link leads
	}
	return true, s.last.links > 0
}

// files looks at each of these; false if it cannot.
func (l *look) files(names map[string]bool) bool {
	roots := make(map[string]folder)
	defer func() {
		for _, r := range roots { // order-free: all are closed
			_ = r.Close() // it was only read
		}
	}()
	for _, full := range slices.Sorted(maps.Keys(names)) {
		at := l.folders[filepath.Dir(full)]
		if roots[at.dir] == nil {
			root, err := l.open(at.dir)
			if err != nil {
				return false
			}
			roots[at.dir] = root
		}
		l.file(roots[at.dir], path.Join(at.name, filepath.Base(full)), full)
	}
	return true
}

// merge puts what a look has found about some ids into the last scan.
func (s *Scanner) merge(l *look, only map[cluster.JobID]bool) {
	s.own()
	last := &s.last
	last.only, last.Unsettled = only, l.scan.Unsettled
	for id := range only { // order-free: each by itself
		s.paths.take(id, l.paths)
		d, has := l.scan.definition(id)
		i, had := slices.BinarySearchFunc(last.Definitions, id, compareID)
		switch {
		case has && had:
			last.Definitions[i] = d
		case has:
			last.Definitions = slices.Insert(last.Definitions, i, d)
		case had:
			last.Definitions = slices.Delete(last.Definitions, i, i+1)
		}
	}
	last.Faults = slices.DeleteFunc(last.Faults,
		func(e *source.MalformedError) bool { return only[source.ID(filepath.ToSlash(e.Path))] })
	last.Faults = append(last.Faults, l.scan.Faults...)
	sortFaults(last.Faults)
	last.Blocked = slices.DeleteFunc(last.Blocked, func(id cluster.JobID) bool { return only[id] })
	last.Blocked = append(last.Blocked, l.scan.Blocked...)
	slices.Sort(last.Blocked)
}
