package directory

import (
	"io/fs"
	"maps"
	"slices"
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

// ScanFiles is ScanDirs for a source that also has files of a program; nil for none.
func ScanFiles(dirs []string, files fs.FS, name string, types work.Types) Scan {
	s := NewScanner(dirs, name, types)
	s.files = files
	return s.Scan()
}

// Scanner scans the same directories repeatedly. It reads only the files whose state changed, and parses those whose content did. It is not safe for
// concurrent use; scanners that share a [Cache] take turns.
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

// Scan scans everything once. The first scan of a scanner may be what another one with the same [Cache] has just scanned.
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
	return &look{Scanner: s, scan: Scan{Complete: true}, paths: newClaims(), folders: s.folders, seen: make(map[string]bool)}
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

// touched are the ids to compare after this scan, sorted: those that it looked at again, and those of pending; all is true where it looked at everything.
func (s *Scan) touched(pending map[cluster.JobID]bool) (ids []cluster.JobID, all bool) {
	if s.only == nil {
		return nil, true
	}
	both := maps.Clone(s.only)
	maps.Copy(both, pending)
	return slices.Sorted(maps.Keys(both)), false
}
