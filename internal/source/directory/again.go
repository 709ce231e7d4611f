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
)

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

// again looks at what may have changed and costs as much as that, or scans everything where that alone shows what has changed. The slices of the scan are
// valid until the next call.
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

// matters reports whether a name that was created, changed or removed concerns one definition, or perhaps more than one.
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
	last.Faults = slices.DeleteFunc(last.Faults, func(e *source.MalformedError) bool { return only[source.ID(filepath.ToSlash(e.Path))] })
	last.Faults = append(last.Faults, l.scan.Faults...)
	sortFaults(last.Faults)
	last.Blocked = slices.DeleteFunc(last.Blocked, func(id cluster.JobID) bool { return only[id] })
	last.Blocked = append(last.Blocked, l.scan.Blocked...)
	slices.Sort(last.Blocked)
}
