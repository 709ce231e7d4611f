package directory

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// Definition is one good file.
type Definition struct {
	ID   cluster.JobID
	Spec cluster.JobSpec
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

// Scanner scans the same directories repeatedly and parses only the files whose content changed. It is not safe for concurrent use.
type Scanner struct {
	dirs  []string
	files fs.FS // of the program, beside the directories; nil for none
	name  string
	types work.Types
	known map[string]parsed // by path, of the scan before
}

// parsed is what a content means.
type parsed struct {
	sum   [sha256.Size]byte
	spec  cluster.JobSpec
	mark  string // Definition.Sum
	fault *source.MalformedError
}

// NewScanner returns a scanner; name is the source of the definitions.
func NewScanner(dirs []string, name string, types work.Types) *Scanner {
	return &Scanner{dirs: dirs, name: name, types: types}
}

// Scan scans everything once.
func (s *Scanner) Scan() Scan {
	l := look{Scanner: s, scan: Scan{Complete: true}, paths: make(map[cluster.JobID][]string), parsed: make(map[string]parsed)}
	for _, dir := range s.dirs {
		l.dir(dir)
	}
	if s.files != nil {
		l.program(s.files)
	}
	l.refuseTwins()
	s.known = l.parsed
	slices.SortFunc(l.scan.Definitions, func(a, b Definition) int { return strings.Compare(string(a.ID), string(b.ID)) })
	slices.SortFunc(l.scan.Faults, func(a, b *source.MalformedError) int { return strings.Compare(a.Error(), b.Error()) })
	slices.Sort(l.scan.Blocked)
	l.scan.Blocked = slices.Compact(l.scan.Blocked)
	return l.scan
}

// look is one scan under way.
type look struct {
	*Scanner
	scan   Scan
	paths  map[cluster.JobID][]string // all files that define an id, good or not
	parsed map[string]parsed
}

func (l *look) fault(file, message, hint string) {
	l.scan.Faults = append(l.scan.Faults, &source.MalformedError{Path: file, Message: message, Hint: hint})
}

// incomplete notes what could not be looked at: nothing will be removed.
func (l *look) incomplete(file string, err error) {
	l.scan.Complete = false
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	l.fault(file, "cannot be read: "+err.Error(), "nothing is removed until it can be")
}

func (l *look) dir(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		l.incomplete(dir, err)
		return
	}
	defer root.Close()
	l.folder(disk{root}, dir)
}

// program scans files that a program gives.
func (l *look) program(files fs.FS) {
	known, where := len(l.scan.Faults), programFiles
	server, ok := files.(Storage)
	if ok {
		where = server.Storage()
	}
	l.folder(given{files}, where)
	for _, e := range l.scan.Faults[known:] {
		if ok {
			e.Storage = where
		}
	}
}

func (l *look) folder(root folder, dir string) {
	names := 0
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		names++
		return l.entry(root, dir, name, d, err)
	})
	if err != nil {
		l.incomplete(dir, err)
	}
	if names == 1 && l.scan.Complete {
		l.scan.Empty = append(l.scan.Empty, dir)
	}
}

// entry looks at one name below the directory; "." is the directory itself.
func (l *look) entry(root folder, dir, name string, d fs.DirEntry, err error) error {
	full := filepath.Join(dir, filepath.FromSlash(name))
	hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
	switch {
	case err != nil && errors.Is(err, fs.ErrNotExist) && name != ".":
		l.scan.Unsettled = true // it vanished between the listing and now: the next look tells
	case err != nil:
		l.incomplete(full, err)
	case hidden && d.IsDir():
		return fs.SkipDir
	case hidden:
	case d.IsDir():
		if _, watched := root.(disk); watched {
			l.scan.Folders = append(l.scan.Folders, full)
		}
	case d.Type()&fs.ModeSymlink != 0:
		l.link(root, name, full)
	case !source.Extension(name):
		l.scan.Ignored++
	default:
		l.file(root, name, full)
	}
	return nil
}

// link looks where a link leads. Directories are not followed: a link to one above it would have no end.
func (l *look) link(root folder, name, full string) {
	info, err := root.Stat(name)
	switch {
	case err == nil && info.IsDir():
		l.fault(full, "a link to a directory is not followed", "name the directory beside this one, or copy it")
	case err == nil && source.Extension(name):
		l.file(root, name, full)
	case err == nil:
		l.scan.Ignored++
	default:
		if source.Extension(name) {
			l.claim(name, full)
			l.block(name)
		}
		l.fault(full, "a link that leads out of the directory, or nowhere", "copy what it should lead to")
	}
}

// claim notes that a file defines its id; false if the same file was seen by another way into its directory.
func (l *look) claim(name, full string) bool {
	id := source.ID(name)
	if slices.Contains(l.paths[id], full) {
		return false
	}
	l.paths[id] = append(l.paths[id], full)
	return true
}

func (l *look) block(name string) { l.scan.Blocked = append(l.scan.Blocked, source.ID(name)) }

func (l *look) file(root folder, name, full string) {
	data, err := root.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		l.scan.Unsettled = true
		return // as if it had not been listed; it takes a second look to remove its job
	}
	if !l.claim(name, full) {
		return
	}
	var tooBig *sizeError
	switch {
	case errors.Is(err, errChanging):
		l.scan.Unsettled = true
		l.block(name)
	case errors.As(err, &tooBig):
		l.block(name)
		l.scan.Faults = append(l.scan.Faults, source.TooLarge(full, tooBig.size))
	case errors.Is(err, errIrregular):
		l.block(name)
		l.fault(full, err.Error(), "")
	case err != nil:
		l.block(name)
		l.incomplete(full, err)
	default:
		l.take(name, full, data)
	}
}

// take parses a file unless its content is what it was.
func (l *look) take(name, full string, data []byte) {
	p, ok := l.known[full]
	if sum := sha256.Sum256(data); !ok || p.sum != sum {
		_, spec, err := source.Parse(full, data, l.types)
		spec.Source = l.name
		p = parsed{sum: sum, spec: spec, mark: sumOf(spec)}
		if err != nil && !errors.As(err, &p.fault) {
			p.fault = &source.MalformedError{Path: full, Message: err.Error()}
		}
	}
	l.parsed[full] = p
	if p.fault != nil {
		l.block(name)
		l.scan.Faults = append(l.scan.Faults, p.fault)
		return
	}
	l.scan.Definitions = append(l.scan.Definitions, Definition{ID: source.ID(name), Spec: p.spec, Path: full, Sum: p.mark})
}

// refuseTwins reports ids that several files define; none of them is used.
func (l *look) refuseTwins() {
	twins := make(map[cluster.JobID]bool)
	for id, paths := range l.paths {
		if len(paths) < 2 {
			continue
		}
		twins[id] = true
		l.block(string(id) + ".yaml")
		slices.Sort(paths)
		for i, p := range paths {
			l.fault(p, fmt.Sprintf("%s defines the task %q too; neither is changed", paths[(i+1)%len(paths)], id), "rename one of them")
		}
	}
	l.scan.Definitions = slices.DeleteFunc(l.scan.Definitions, func(d Definition) bool { return twins[d.ID] })
}
