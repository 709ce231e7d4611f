package tasks

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

func link(t *testing.T, to, at string) {
	t.Helper()
	must.Succeed(t, os.Symlink(to, at))
}

// TestTailDoesNotFollowLinks: whoever may write in a log directory must not make a member read another file.
func TestTailDoesNotFollowLinks(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	write(t, outside, "root:x\n")
	inside := filepath.Join(dir, "app.log")
	write(t, inside, "1\n2\n")
	link(t, outside, filepath.Join(dir, "a.log"))
	link(t, inside, filepath.Join(dir, "b.log"))
	link(t, filepath.Dir(outside), filepath.Join(dir, "sub"))
	link(t, "/proc/self", filepath.Join(dir, "proc"))
	paths := []string{filepath.Join(dir, "*.log"), filepath.Join(dir, "sub/*"), filepath.Join(dir, "proc/status")}
	f := follow(t, object{"paths": paths, "from": "start"}, nil)
	f.waitSum("tail.unreadable_files", 4)
	f.waitSum("tail.lines", 2)
	f.end()
	if got := sum(f.h, "tail.lines"); got != 2 {
		t.Errorf("%v lines, want the two of app.log", got)
	}
}

// TestTailLinksStayBelow: links that are wanted lead to files below the allowed directory, and nowhere else.
func TestTailLinksStayBelow(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	must.Succeed(t, os.MkdirAll(filepath.Join(root, "v1"), 0o700))
	write(t, filepath.Join(outer, "secret"), "x\n")
	write(t, filepath.Join(root, "v1", "app.log"), "1\n")
	link(t, "v1", filepath.Join(root, "current"))
	link(t, "../secret", filepath.Join(root, "out.log"))
	link(t, "/proc/self/status", filepath.Join(root, "status.log"))
	must.Succeed(t, os.Mkdir(filepath.Join(root, "dir.log"), 0o700)) // it is no file
	o := Options{TailAllow: []string{root}}
	for pattern, want := range map[string]int{"current/*.log": 1, "*.log": 0, "*/*.log": 2} {
		place := must.Get(o.place(filepath.Join(root, pattern), true))(t)
		left := tailMostNames
		got := place.files(&left)
		if len(got) != want {
			t.Errorf("%s: found %v, want %d files", pattern, got, want)
		}
		for _, f := range got {
			opened, err := f.open()
			if err != nil {
				t.Errorf("%s: %v", f.path, err)
				continue
			}
			opened.f.Close()
		}
	}
}

// TestTailFileThatIsReplaced: between finding and opening, a link or another file takes the file's place.
func TestTailFileThatIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "app.log"), filepath.Join(dir, "other")
	write(t, path, "1\n")
	write(t, other, "secret\n")
	place := must.Get(below.place(path, false))(t)
	left := tailMostNames
	found := place.files(&left)
	if len(found) != 1 {
		t.Fatalf("found %v, want one", found)
	}
	rename(t, path, path+".1")
	link(t, other, path)
	if f, err := found[0].open(); err == nil {
		f.f.Close()
		t.Error("opened the file that a link leads to")
	}
	must.Succeed(t, os.Remove(path))
	must.Succeed(t, os.Link(other, path))
	if f, err := found[0].open(); err == nil {
		f.f.Close()
		t.Error("opened another file under the name")
	}
}

// TestFilesOfTheKernel: /proc may be mounted elsewhere, or the whole disk be allowed.
func TestFilesOfTheKernel(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/proc/self/status": true, os.Args[0]: false} {
		f, err := os.Open(path)
		if err != nil {
			t.Skipf("no such file to look at: %v", err)
		}
		if got := ofTheKernel(f); got != want {
			t.Errorf("%s: of the kernel: %v, want %v", path, got, want)
		}
		info := must.Get(f.Stat())(t)
		f.Close()
		opened, err := tailFound{path: path, root: filepath.Dir(path), rel: filepath.Base(path), info: info}.open()
		if (err != nil) != want {
			t.Errorf("open %s: %v", path, err)
		}
		if err == nil {
			opened.f.Close()
		}
	}
}

// TestTailBoundsFiles: more files than one task may follow are counted.
func TestTailBoundsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range tailMaxFiles + 1 {
		write(t, filepath.Join(dir, strconv.Itoa(i)), "1\n")
	}
	f := follow(t, object{"paths": []string{filepath.Join(dir, "*")}, "from": "start"}, nil)
	f.waitSum("tail.lines", tailMaxFiles)
	if f.end(); sum(f.h, "tail.skipped_files") < 1 {
		t.Error("a file is left out, and nobody is told")
	}
}

// TestTailBoundsNames: a pattern that leads through more names than one scan may look at is not followed further, and
// that can be seen.
func TestTailBoundsNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 20 {
		sub := filepath.Join(dir, strconv.Itoa(i))
		must.Succeed(t, os.Mkdir(sub, 0o700))
		write(t, filepath.Join(sub, "app.log"), "1\n")
	}
	place := must.Get(below.place(filepath.Join(dir, "*/*.log"), false))(t)
	for names, want := range map[int]int{100: 20, 10: 0} {
		left := names
		if got := place.files(&left); len(got) != want || (left < 0) != (want == 0) {
			t.Errorf("%d names allowed: found %d files, want %d; %d left", names, len(got), want, left)
		}
	}
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "few"), 0o700))
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, "few", name), "")
	}
	place = must.Get(below.place(filepath.Join(dir, "few", "*"), false))(t)
	for names, over := range map[int]bool{6: false, 5: true} {
		left := names
		if place.files(&left); left < 0 != over {
			t.Errorf("of %d names, three of them steps to the directory, %d are left", names, left)
		}
	}
}
