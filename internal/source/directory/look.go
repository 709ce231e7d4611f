package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
)

// look is one scan under way.
type look struct {
	*Scanner
	scan    Scan
	paths   claims
	folders map[string]place
	seen    map[string]bool // the paths of files
	gone    int             // files that were not there when they were looked at
	again   bool            // something said that these files changed: their states are not asked
}

func (l *look) fault(file, message, hint string) {
	l.scan.Faults = append(l.scan.Faults, &source.MalformedError{Path: file, Message: message, Hint: hint})
}

// incomplete notes what could not be looked at: nothing will be removed.
func (l *look) incomplete(file string, err error) {
	l.scan.Complete = false
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	l.fault(file, "cannot be read: "+err.Error(), "nothing is removed until it can be")
}

func (l *look) dir(dir string) {
	root, err := l.open(dir)
	if err != nil {
		l.incomplete(dir, err)
		return
	}
	defer func() { _ = root.Close() }() // it was only read
	l.folder(root, dir)
}

// programFiles is what paths begin with of files that a program gives and that say nothing else.
const programFiles = "program"

func (l *look) folder(root folder, dir string) {
	names := 0
	visit := func(name string, d fs.DirEntry, err error) error {
		names++
		return l.entry(root, dir, name, d, err)
	}
	var err error
	if root.watched() {
		err = walk(root.FS(), visit)
	} else {
		err = fs.WalkDir(root.FS(), ".", visit)
	}
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
	if err == nil && d.Type()&fs.ModeSymlink != 0 {
		l.scan.links++
	}
	switch {
	case err != nil && errors.Is(err, fs.ErrNotExist) && name != ".":
		l.scan.Unsettled = true // it vanished between the listing and now: the next look tells
	case err != nil:
		l.incomplete(full, err)
	case hidden && d.IsDir():
		return fs.SkipDir
	case hidden:
	case d.IsDir():
		if root.watched() {
			l.scan.Folders = append(l.scan.Folders, full)
			l.folders[full] = place{dir, name}
		}
	case d.Type()&fs.ModeSymlink != 0:
		l.link(root, name, full)
	case !source.Extension(name):
		l.scan.Ignored++
	default:
		l.listed(root, name, full, d)
	}
	return nil
}

// listed looks at a file of a listing, which has its state already in directories of this machine.
func (l *look) listed(root folder, name, full string, d fs.DirEntry) {
	if !root.watched() {
		l.file(root, name, full)
		return
	}
	info, err := d.Info()
	l.stated(root, name, full, info, err)
}

// link looks where a link leads. Directories are not followed: a link to one above it would have no end.
func (l *look) link(root folder, name, full string) {
	info, err := root.Stat(name)
	if source.Extension(name) && (err != nil || info.IsDir()) {
		l.claim(full)
		l.block(name)
	}
	switch {
	case err == nil && info.IsDir():
		l.fault(full, "a link to a directory is not followed", "name the directory beside this one, or copy it")
	case err == nil && source.Extension(name):
		l.file(root, name, full)
	case err == nil:
		l.scan.Ignored++
	default:
		l.fault(full, "a link that leads out of the directory, or nowhere", "copy what it should lead to")
	}
}

// claim notes that a file defines its id; false if the same file was seen by another way into its directory.
func (l *look) claim(full string) bool {
	return l.paths.add(source.ID(filepath.ToSlash(full)), full) // a part of the path: no name of its own
}

func (l *look) block(name string) { l.scan.Blocked = append(l.scan.Blocked, source.ID(name)) }

func (l *look) file(root folder, name, full string) {
	info, err := root.Stat(name)
	l.stated(root, name, full, info, err)
}

// stated looks at a file of which the state is known, or why it is not.
func (l *look) stated(root folder, name, full string, info fs.FileInfo, err error) {
	if err == nil && !info.Mode().IsRegular() { // not even opened: opening a pipe or a device can have effects
		err = errIrregular
	}
	if errors.Is(err, fs.ErrNotExist) {
		l.gone++
		l.scan.Unsettled = l.scan.Unsettled || !l.again
		return // as if it had not been listed; it takes a second look to remove its job
	}
	if !l.claim(full) {
		return
	}
	if unnamed, ok := errors.AsType[*source.MalformedError](source.CheckFile(filepath.ToSlash(full))); ok { // here: what is parsed is shared by all files of one content
		l.block(name)
		l.scan.Faults = append(l.scan.Faults, unnamed)
		return
	}
	if err == nil && !l.again {
		if p, ok := l.known.of(full, stampOf(info)); ok {
			l.take(name, p)
			return
		}
	}
	var data []byte
	if err == nil {
		data, info, err = root.read(name)
	}
	l.content(name, full, data, info, err)
}

// content takes what was read, or why it could not be.
func (l *look) content(name, full string, data []byte, info fs.FileInfo, err error) {
	var tooBig *sizeError
	switch {
	case errors.Is(err, errChanging), errors.Is(err, fs.ErrNotExist):
		l.scan.Unsettled = true
		l.block(name)
	case errors.As(err, &tooBig):
		l.block(name)
		l.scan.Faults = append(l.scan.Faults, source.TooLarge(full, tooBig.size))
	case errors.Is(err, errIrregular):
		l.block(name)
		l.fault(full, err.Error(), "put a file in its place, or remove it")
	case err != nil:
		l.block(name)
		l.incomplete(full, err)
	default:
		l.take(name, l.known.read(full, data, stampOf(info), func() meaning { return l.parse(full, data) }))
	}
}

func (l *look) parse(full string, data []byte) meaning {
	_, spec, err := source.Parse(full, data, l.types)
	spec.Source = l.name
	m := meaning{spec: &spec, mark: sumOf(spec)}
	if err != nil && !errors.As(err, &m.fault) {
		m.fault = &source.MalformedError{Path: full, Message: err.Error()}
	}
	return m
}

// take notes what a file means.
func (l *look) take(name string, p *parsed) {
	full := p.path
	l.seen[full] = true
	if p.fault != nil {
		l.block(name)
		l.scan.Faults = append(l.scan.Faults, p.fault)
		return
	}
	l.scan.Definitions = append(l.scan.Definitions, Definition{ID: source.ID(filepath.ToSlash(full)), Spec: p.spec,
		Path: full, Sum: p.mark})
}

// finish refuses what several files define, and sorts.
func (l *look) finish() {
	l.refuseTwins()
	slices.SortFunc(l.scan.Definitions, func(a, b Definition) int { return compareID(a, b.ID) })
	sortFaults(l.scan.Faults)
	slices.Sort(l.scan.Blocked)
	l.scan.Blocked = slices.Compact(l.scan.Blocked)
	l.paths.leave(l.scan.Definitions)
}

func sortFaults(faults []*source.MalformedError) {
	slices.SortFunc(faults, func(a, b *source.MalformedError) int { return strings.Compare(a.Error(), b.Error()) })
}

// refuseTwins reports ids that several files define; none of them is used.
func (l *look) refuseTwins() {
	twins := make(map[cluster.JobID]bool)
	for id := range l.paths.more { // order-free: faults are sorted
		twins[id] = true
		paths := l.paths.of(id)
		l.block(string(id) + ".yaml")
		slices.Sort(paths)
		for i, p := range paths {
			l.fault(p, fmt.Sprintf("%s defines the task %q too; neither is changed", paths[(i+1)%len(paths)], id),
				"rename one of them")
		}
	}
	l.scan.Definitions = slices.DeleteFunc(l.scan.Definitions, func(d Definition) bool { return twins[d.ID] })
}
