package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
)

// TestWalk: it visits what fs.WalkDir visits, and goes around what is skipped and what cannot be read.
func TestWalk(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.yaml": {}, "sub/deep/b.yaml": {}, "sub/c.yaml": {}, ".git/x.yaml": {},
		"empty": {Mode: fs.ModeDir}}
	for i := range 3 * listedAtOnce {
		files[fmt.Sprintf("many/%05d.yaml", i)] = &fstest.MapFile{}
	}
	for _, fsys := range []fs.FS{files, broken{files}, fstest.MapFS{}, broken{fstest.MapFS{}}} {
		visits := func(walk func(fs.WalkDirFunc) error) (all []string) {
			err := walk(func(name string, d fs.DirEntry, err error) error {
				if name == ".git" {
					return fs.SkipDir
				}
				all = append(all, fmt.Sprint(name, d != nil && d.IsDir(), err))
				return nil
			})
			slices.Sort(all)
			return append(all, fmt.Sprint(err))
		}
		got := visits(func(visit fs.WalkDirFunc) error { return walk(fsys, visit) })
		want := visits(func(visit fs.WalkDirFunc) error { return fs.WalkDir(fsys, ".", visit) })
		if !slices.Equal(got, want) {
			t.Errorf("got %d visits, want %d:\n%.500s\n%.500s", len(got), len(want), got, want)
		}
	}
	stop := errors.New("stop")
	if err := walk(files, func(string, fs.DirEntry, error) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the visitor: %v", err)
	}
}

// broken cannot read one directory.
type broken struct{ fs.FS }

func (b broken) Open(name string) (fs.File, error) {
	if name == "sub/deep" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.FS.Open(name)
}

// TestWalkOfHalfADirectory: a list that fails midway is told as an error of its directory, after what it has shown.
// Else files that it did not show would count as removed.
func TestWalkOfHalfADirectory(t *testing.T) {
	t.Parallel()
	var all []string
	err := walk(halfListed{fstest.MapFS{"a/1.yaml": {}, "a/2.yaml": {}, "b/3.yaml": {}}},
		func(name string, _ fs.DirEntry, err error) error {
			all = append(all, fmt.Sprint(name, " ", err))
			return nil
		})
	slices.Sort(all)
	if want := []string{". <nil>", "a <nil>", "a disk gone", "a/1.yaml <nil>", "b <nil>",
		"b/3.yaml <nil>"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("got %q, %v; want %q", all, err, want)
	}
}

// halfListed shows one name of the directory a, and fails then.
type halfListed struct{ fs.FS }

func (h halfListed) Open(name string) (fs.File, error) {
	f, err := h.FS.Open(name)
	if err != nil || name != "a" {
		return f, err
	}
	return &halfDir{ReadDirFile: f.(fs.ReadDirFile)}, nil
}

type halfDir struct {
	fs.ReadDirFile
	told bool
}

func (d *halfDir) ReadDir(int) ([]fs.DirEntry, error) {
	if d.told {
		return nil, errors.New("disk gone")
	}
	d.told = true
	return d.ReadDirFile.ReadDir(1)
}

// TestATornReadIsNoticed: a file that was written while it was read is read again, also where it has as many bytes as
// before.
func TestATornReadIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.yaml")
	look := func(text string, at time.Time) os.FileInfo {
		t.Helper()
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		must.Succeed(t, os.Chtimes(path, at, at))
		info := must.Get(os.Stat(path))(t)
		return info
	}
	at := time.UnixMilli(1795190400000)
	was := look("type: noop", at)
	for name, c := range map[string]struct {
		after os.FileInfo
		n     int
		want  bool
	}{
		"the same":                {look("type: noop", at), 10, true},
		"other text, same size":   {look("type: http", at.Add(time.Millisecond)), 10, false},
		"longer":                  {look("type: noop\n", at), 10, false},
		"read less than it has":   {look("type: noop", at), 9, false},
		"read more than it has":   {look("type: noop", at), 11, false},
		"older, as from a backup": {look("type: noop", at.Add(-time.Hour)), 10, false},
	} {
		if got := unchanged(was, c.after, c.n); got != c.want {
			t.Errorf("%s: unchanged %v, want %v", name, got, c.want)
		}
	}
}

// TestAContentSettlesByItself: a file that has another content under the stamp of the former one is read once more, as
// a new one is.
func TestAContentSettlesByItself(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, s := newContents(), stamp{inode: 1, size: 1, ok: true}
		read := func(data string) { c.read("x", []byte(data), s, func() meaning { return meaning{} }) }
		read("a")
		time.Sleep(settles)
		if _, known := c.of("x", s); known {
			t.Error("a content that was read once is not read again")
		}
		read("b")
		time.Sleep(settles)
		if _, known := c.of("x", s); known {
			t.Error("another content is not read again")
		}
		read("b")
		if _, known := c.of("x", s); !known {
			t.Error("a content that was read twice is read once more")
		}
		s.modified++
		read("b")
		time.Sleep(settles)
		if _, known := c.of("x", s); known {
			t.Error("a file that was written since, with the same content, is not read again")
		}
	})
}
