package datastore

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// files are tasks as files in one directory.
type files struct {
	list   []fs.DirEntry // sorted
	byName map[string]info
}

func (s *state) files() *files {
	out := &files{byName: make(map[string]info, len(s.tasks))}
	for _, name := range slices.Sorted(maps.Keys(s.tasks)) {
		t := s.tasks[name]
		i := info{name: name, data: t.data, at: time.UnixMilli(t.updated)}
		out.byName[name] = i
		out.list = append(out.list, fs.FileInfoToDirEntry(i))
	}
	return out
}

func (f *files) stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return info{name: ".", dir: true}, nil
	}
	i, ok := f.byName[name]
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return i, nil
}

func (f *files) open(all fs.ReadDirFS, name string) (fs.File, error) {
	i, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if i.IsDir() {
		return &folder{info: i, all: all}, nil
	}
	return &file{info: i, Reader: bytes.NewReader([]byte(f.byName[name].data))}, nil
}

// info is what is known of a file, and what is in it.
type info struct {
	name string
	data string
	at   time.Time
	dir  bool
}

// Name implements fs.FileInfo.
func (i info) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i info) Size() int64 { return int64(len(i.data)) }

// ModTime implements fs.FileInfo.
func (i info) ModTime() time.Time { return i.at }

// IsDir implements fs.FileInfo.
func (i info) IsDir() bool { return i.dir }

// Sys implements fs.FileInfo.
func (i info) Sys() any { return nil }

// Mode implements fs.FileInfo.
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// file is an open file.
type file struct {
	info fs.FileInfo
	*bytes.Reader
}

// Stat implements fs.File.
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f *file) Close() error { return nil }

// folder is the open directory.
type folder struct {
	info fs.FileInfo
	all  fs.ReadDirFS
	rest []fs.DirEntry
	read bool
}

// Stat implements fs.File.
func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }

// Close implements fs.File.
func (d *folder) Close() error { return nil }

// Read implements fs.File.
func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		var err error
		if d.rest, err = d.all.ReadDir("."); err != nil {
			return nil, err
		}
		d.read = true
	}
	out := d.rest
	if n > 0 {
		if len(out) == 0 {
			return nil, io.EOF
		}
		out = out[:min(n, len(out))]
	}
	d.rest = d.rest[len(out):]
	return slices.Clone(out), nil
}
