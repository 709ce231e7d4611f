package directory

import (
	"errors"
	"fmt"
	"io"
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
}

// Scan is what was found in the directories of a source.
type Scan struct {
	Definitions []Definition // sorted by ID, each ID once
	Faults      []*source.MalformedError
	// Blocked are the ids of files that cannot be used: their jobs stay as they are.
	Blocked []cluster.JobID
	// Complete: everything could be looked at. Only then does a missing file mean that its job is to be removed.
	Complete bool
	Ignored  int // files with other endings
}

// ScanDirs reads all directories. Paths in the result begin with the directory as given.
func ScanDirs(dirs []string, name string, types work.Types) Scan {
	s := scanner{name: name, types: types, scan: Scan{Complete: true}, paths: make(map[cluster.JobID][]string)}
	for _, dir := range dirs {
		s.dir(dir)
	}
	s.refuseTwins()
	slices.SortFunc(s.scan.Definitions, func(a, b Definition) int { return strings.Compare(string(a.ID), string(b.ID)) })
	slices.SortFunc(s.scan.Faults, func(a, b *source.MalformedError) int { return strings.Compare(a.Error(), b.Error()) })
	return s.scan
}

type scanner struct {
	name  string
	types work.Types
	scan  Scan
	paths map[cluster.JobID][]string // all files that define an id, good or not
}

func (s *scanner) fault(file, message, hint string) {
	s.scan.Faults = append(s.scan.Faults, &source.MalformedError{Path: file, Message: message, Hint: hint})
}

// incomplete notes what could not be looked at: nothing will be removed.
func (s *scanner) incomplete(file string, err error) {
	s.scan.Complete = false
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	s.fault(file, "cannot be read: "+err.Error(), "nothing is removed until it can be")
}

func (s *scanner) dir(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		s.incomplete(dir, err)
		return
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		full := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			s.incomplete(full, err)
			return nil
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !source.Extension(name):
			s.scan.Ignored++
			return nil
		}
		s.file(root, name, full)
		return nil
	})
	if err != nil {
		s.incomplete(dir, err)
	}
}

func (s *scanner) file(root *os.Root, name, full string) {
	id := source.ID(name)
	data, err := read(root, name)
	if errors.Is(err, fs.ErrNotExist) && !linked(root, name) {
		return // it vanished between the listing and now: it is not there
	}
	s.paths[id] = append(s.paths[id], full)
	var tooBig *sizeError
	switch {
	case errors.As(err, &tooBig):
		s.block(id)
		s.fault(full, tooBig.Error(), "")
		return
	case err != nil && linked(root, name):
		s.block(id)
		s.fault(full, "a link that leads out of the directory, or nowhere", "copy the file")
		return
	case err != nil:
		s.block(id)
		s.incomplete(full, err)
		return
	}
	_, spec, err := source.Parse(full, data, s.types)
	if err != nil {
		s.block(id)
		var me *source.MalformedError
		if errors.As(err, &me) {
			s.scan.Faults = append(s.scan.Faults, me)
		}
		return
	}
	spec.Source = s.name
	s.scan.Definitions = append(s.scan.Definitions, Definition{ID: id, Spec: spec, Path: full})
}

func (s *scanner) block(id cluster.JobID) { s.scan.Blocked = append(s.scan.Blocked, id) }

type sizeError struct{ size int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("%d bytes; a definition has at most %d", e.size, source.MaxFile)
}

// read reads a file of at most the size of a definition, never more.
func read(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is not a regular file")
	case info.Size() > source.MaxFile:
		return nil, &sizeError{info.Size()}
	}
	data, err := io.ReadAll(io.LimitReader(f, source.MaxFile+1))
	if err == nil && len(data) > source.MaxFile {
		err = &sizeError{int64(len(data))}
	}
	return data, err
}

func linked(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// refuseTwins reports ids that several files define; none of them is used.
func (s *scanner) refuseTwins() {
	ids := make([]string, 0)
	for id, paths := range s.paths {
		if len(paths) > 1 {
			ids = append(ids, string(id))
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		paths := s.paths[cluster.JobID(id)]
		slices.Sort(paths)
		s.block(cluster.JobID(id))
		s.scan.Definitions = slices.DeleteFunc(s.scan.Definitions, func(d Definition) bool { return string(d.ID) == id })
		for i, p := range paths {
			other := paths[(i+1)%len(paths)]
			s.fault(p, fmt.Sprintf("%s defines the task %q too; neither is changed", other, id), "rename one of them")
		}
	}
}
