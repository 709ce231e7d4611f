package directory

import (
	"errors"
	"io"
	"io/fs"
	"path"
)

// listedAtOnce is how many names of a directory are read at a time: it may have 100,000, and the state of each takes more memory than what a scan keeps of it.
const listedAtOnce = 512

// walk is [fs.WalkDir] of all there is, but in the order in which the system lists names, and without a list of all that are in one directory.
func walk(fsys fs.FS, visit fs.WalkDirFunc) error {
	info, err := fs.Stat(fsys, ".")
	if err != nil {
		err = visit(".", nil, err)
	} else {
		err = walkDir(fsys, ".", fs.FileInfoToDirEntry(info), visit)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// walkDir visits a directory and what is in it.
func walkDir(fsys fs.FS, name string, d fs.DirEntry, visit fs.WalkDirFunc) error {
	if err := visit(name, d, nil); err != nil {
		return err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return visit(name, d, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return visit(name, d, &fs.PathError{Op: "readdir", Path: name, Err: errors.ErrUnsupported})
	}
	for {
		some, err := dir.ReadDir(listedAtOnce)
		for _, e := range some {
			if err := walkEntry(fsys, path.Join(name, e.Name()), e, visit); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return visit(name, d, err)
		}
	}
}

func walkEntry(fsys fs.FS, name string, d fs.DirEntry, visit fs.WalkDirFunc) error {
	if !d.IsDir() {
		return visit(name, d, nil)
	}
	err := walkDir(fsys, name, d, visit)
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}
