package directory

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
)

// counter counts what is asked of the directories of a scanner.
type counter struct {
	folder
	lists, stats, reads *int
}

func (c counter) FS() fs.FS { *c.lists++; return c.folder.FS() }

func (c counter) Stat(name string) (fs.FileInfo, error) { *c.stats++; return c.folder.Stat(name) }

func (c counter) read(name string) ([]byte, fs.FileInfo, error) {
	*c.reads++
	return c.folder.read(name)
}

// counted makes a scanner count, and returns what gives and resets the counts.
func counted(s *Scanner) (counts func() string) {
	var lists, stats, reads int
	s.open = func(dir string) (folder, error) {
		f, err := openDisk(dir)
		return counter{f, &lists, &stats, &reads}, err
	}
	return func() string {
		defer func() { lists, stats, reads = 0, 0, 0 }()
		return fmt.Sprintf("%d listings, %d stats, %d reads", lists, stats, reads)
	}
}

func only(names ...string) changes {
	var c changes
	for _, n := range names {
		c.add(n)
	}
	return c
}

// TestALookCostsWhatChanged: among many files, one that changes costs one read; a scan of everything reads only what
// may have changed.
func TestALookCostsWhatChanged(t *testing.T) {
	t.Parallel()
	const n = 2000
	files := make(map[string]string)
	for i := range n {
		files[fmt.Sprintf("sub%d/t%04d.yaml", i%3, i)] = good
	}
	dir := tree(t, files)
	if !stampOf(stat(t, filepath.Join(dir, "sub1/t0001.yaml"))).ok {
		t.Skip("this system does not say enough about a file to leave it unread")
	}
	synctest.Test(t, func(t *testing.T) {
		cache := NewCache()
		s := NewScanner([]string{dir}, "s", types())
		s.known = cache.of("s")
		counts := counted(s)
		look := func(what string, c changes, want string) Scan {
			t.Helper()
			scan := s.again(c)
			if got := counts(); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
			if len(scan.Definitions) != n {
				t.Fatalf("%s: %d definitions", what, len(scan.Definitions))
			}
			return scan
		}
		look("first", changes{all: true}, "1 listings, 0 stats, 2000 reads")
		other := NewScanner([]string{dir}, "s", types())
		other.known = cache.of("s")
		otherCounts := counted(other)
		if other.Scan(); otherCounts() != "1 listings, 0 stats, 0 reads" {
			t.Error("a second scanner of the process read the files again")
		}
		one := filepath.Join(dir, "sub1/t0001.yaml")
		for i := range 30 { // as an editor or a program does, in place or by a new file
			text := fmt.Sprintf("type: noop\nevery: %ds\n", i+1)
			if i%2 == 0 {
				put(t, one, text)
			} else {
				must.Succeed(t, os.WriteFile(one+".tmp", []byte(text), 0o600))
				must.Succeed(t, os.Rename(one+".tmp", one))
			}
			scan := look("a change", only(one, one+".tmp"), "0 listings, 1 stats, 1 reads")
			if touched, all := scan.touched(nil); all || !slices.Equal(touched, []cluster.JobID{"t0001"}) {
				t.Fatalf("everything was compared, or %v", touched)
			}
			want := fmt.Sprintf(`{"every_ms":%d}`, (i+1)*1000)
			if d, _ := scan.definition("t0001"); string(d.Spec.Tasks[0].Definition) != want {
				t.Fatalf("got %s, want %s", d.Spec.Tasks[0].Definition, want)
			}
		}
		look("nothing", changes{}, "0 listings, 0 stats, 0 reads")
		look("soon", changes{all: true}, "1 listings, 0 stats, 0 reads")
		time.Sleep(settles) // waits: virtual time
		look("once more, for the resolution of the clock", changes{all: true}, "1 listings, 0 stats, 2000 reads")
		look("settled", changes{all: true}, "1 listings, 0 stats, 0 reads")
		time.Sleep(time.Hour) // waits: virtual time
		look("settled", changes{all: true}, "1 listings, 0 stats, 0 reads")
		put(t, one, good)
		look("changed without a hint", changes{all: true}, "1 listings, 0 stats, 1 reads")
	})
}

// Scanners of a process that look at about the same time use one scan, and none uses one twice to confirm what it has
// seen.
func TestScannersShareASweep(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": good, "b.yaml": good})
	cache := NewCache()
	scanner := func() (*Scanner, func() string) {
		s := NewScanner([]string{dir}, "s", types())
		s.known = cache.of("s")
		return s, counted(s)
	}
	first, counts := scanner()
	first.Scan()
	if got := counts(); got != "1 listings, 0 stats, 2 reads" {
		t.Fatal(got)
	}
	cache.of("s").last.began = time.Now().Add(-time.Hour) // as if it had taken an hour
	second, secondCounts := scanner()
	if got := second.Scan(); len(got.Definitions) != 2 || secondCounts() != "0 listings, 0 stats, 0 reads" {
		t.Errorf("%d definitions, and it did not use the scan of the first one", len(got.Definitions))
	}
	put(t, filepath.Join(dir, "a.yaml"), "type: noop\nevery: 9s\n")
	second.again(only(filepath.Join(dir, "a.yaml")))
	if d, _ := first.last.definition("a"); strings.Contains(string(d.Spec.Tasks[0].Definition), "9000") {
		t.Error("what one scanner has found has changed the scan of the other one")
	}
	secondCounts()
	if second.again(changes{due: true}); secondCounts() != "1 listings, 0 stats, 0 reads" {
		t.Error("a scanner used the same scan again, or one that began before its last look")
	}
}

// A sweep that began before a scanner's last look, or that ended long ago, shows an older state.
func TestCurrent(t *testing.T) {
	t.Parallel()
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }
	w := &sweep{began: at(0), ended: at(2)}
	for _, c := range []struct {
		last, now time.Time
		want      bool
	}{
		{time.Time{}, at(3), true},
		{time.Time{}, at(4), false},
		{at(-1), at(3), true},
		{at(-0.2), at(3), false},
		{at(1), at(3), false},
	} {
		if got := w.current(c.last, c.now); got != c.want {
			t.Errorf("after a look at %v, at %v: %t", c.last, c.now, got)
		}
	}
	if (*sweep)(nil).current(time.Time{}, at(0)) {
		t.Error("none is current")
	}
}

// What was told is looked at by a scanner itself, however new the scan of another one is.
func TestWhatIsToldIsLookedAt(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": good})
	s := NewScanner([]string{dir}, "s", types())
	counts := counted(s)
	s.Scan()
	for _, c := range []changes{{all: true}, {due: true, names: map[string]bool{filepath.Join(dir, "a.yaml"): true}}} {
		s.looked = time.Now().Add(-time.Hour)
		s.known.last.began, s.known.last.ended = time.Now().Add(-time.Minute), time.Now()
		counts()
		if s.again(c); counts() == "0 listings, 0 stats, 0 reads" {
			t.Errorf("%+v: it used the scan of another one", c)
		}
	}
	s.looked = time.Now().Add(-time.Hour)
	s.known.last.began, s.known.last.ended = time.Now().Add(-time.Minute), time.Now()
	counts()
	if s.again(changes{due: true}); counts() != "0 listings, 0 stats, 0 reads" {
		t.Error("it did not use the scan of another one though nothing was told")
	}
	later := filepath.Join(t.TempDir(), "later")
	s = NewScanner([]string{dir, later}, "s", types())
	s.Scan()
	must.Succeed(t, os.Mkdir(later, 0o750))
	if scan := s.again(only(filepath.Join(dir, "a.yaml"))); !scan.Complete {
		t.Error("after a scan that could not read everything one file alone was looked at")
	}
}

func stat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info := must.Get(os.Stat(name))(t)
	return info
}

// TestALookAgreesWithAFreshScan: whatever happens to files, looking at what changed finds what a scan of everything
// does.
func TestALookAgreesWithAFreshScan(t *testing.T) {
	t.Parallel()
	partial := 0
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 1))
		dir := tree(t, map[string]string{"a.yaml": good, "sub/b.yaml": good, "sub/deep/c.yaml": good})
		s := NewScanner([]string{dir}, "s", types())
		s.Scan()
		for step := range 60 {
			changed := make(map[string]bool)
			for range 1 + chance.IntN(3) {
				mischief(t, chance, dir, changed, seed%2 == 1)
			}
			got := s.again(changes{names: changed})
			if got.only != nil {
				partial++
			}
			want := ScanDirs([]string{dir}, "s", types())
			want.Ignored = got.Ignored // other files are counted by scans of everything alone
			if describe(dir, got) != describe(dir, want) {
				t.Fatalf("seed %d, step %d, %v: got\n%s\nwant\n%s", seed, step, slices.Sorted(maps.Keys(changed)),
					describe(dir, got), describe(dir, want))
			}
		}
	}
	if partial < 400 { // of 1,200; where links are, each look is at everything
		t.Errorf("%d looks were at what changed alone", partial)
	}
}

// mischief does something to a file, and notes its name as the system does.
func mischief(t *testing.T, chance *rand.Rand, dir string, changed map[string]bool, links bool) {
	t.Helper()
	names := []string{"a.yaml", "b.yaml", "sub/a.yaml", "sub/b.yaml", "sub/deep/c.yaml", "sub/d.json", "note.txt",
		".hidden.yaml", "sub/link.yaml"}
	name := filepath.Join(dir, names[chance.IntN(len(names))])
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		return
	}
	changed[name] = true
	switch what := chance.IntN(9); {
	case what < 2:
		must.Succeed(t, os.RemoveAll(name))
	case what == 2 && links:
		must.Succeed(t, os.RemoveAll(name))
		must.Succeed(t, os.Symlink(filepath.Join(dir, "a.yaml"), name))
	case what == 3 && links:
		must.Succeed(t, os.RemoveAll(name))
		must.Succeed(t, os.Symlink("a.yaml", name))
	case what == 4 && chance.IntN(4) == 0:
		other := filepath.Join(dir, "sub", "deep")
		changed[other], changed[filepath.Join(other, "c.yaml")] = true, true
		must.Succeed(t, os.RemoveAll(other))
		if chance.IntN(2) == 0 {
			must.Succeed(t, os.Mkdir(other, 0o750))
			must.Succeed(t, os.WriteFile(filepath.Join(other, "c.yaml"), []byte(good), 0o600))
		}
	default:
		text := []string{good, "type: nopp\n", "type: noop\nevery: 3s\n", "{}"}[chance.IntN(4)]
		must.Succeed(t, os.RemoveAll(name))
		must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// TestAFolderThatIsSuddenlyEmptyIsSeen: a look that finds many files gone looks whether the directory is there.
func TestAFolderThatIsSuddenlyEmptyIsSeen(t *testing.T) {
	t.Parallel()
	files, c := make(map[string]string), changes{}
	for i := range tooMany + 1 {
		files[fmt.Sprintf("t%d.yaml", i)] = good
	}
	dir := tree(t, files)
	s := NewScanner([]string{dir}, "s", types())
	s.Scan()
	for name := range files {
		must.Succeed(t, os.Remove(filepath.Join(dir, name)))
		c.add(filepath.Join(dir, name))
	}
	if scan := s.again(c); len(scan.Empty) != 1 || scan.only != nil {
		t.Errorf("got %+v, want an empty directory", scan)
	}
}

// BenchmarkOneChange is what one changed file costs among many: with the look that a hint leads to, with a scan of
// everything, and before, when each file was read.
func BenchmarkOneChange(b *testing.B) {
	const n = 100_000
	dir := b.TempDir()
	for i := range n {
		must.Succeed(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("task-%06d.yaml", i)), []byte(good), 0o600))
	}
	s := NewScanner([]string{dir}, "s", types())
	s.Scan()
	for _, p := range s.known.files { // order-free: each by itself
		p.settled = true
	}
	one := filepath.Join(dir, "task-000001.yaml")
	for _, c := range []struct {
		name string
		look func()
	}{
		{"hint", func() { s.again(only(one)) }},
		{"scan", func() { s.Scan() }},
		{"reading", func() { s.known.files = make(map[string]*parsed, n); s.Scan() }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := range b.N {
				must.Succeed(b, os.WriteFile(one, fmt.Appendf(nil, "type: noop\nevery: %ds\n", i%50+1), 0o600))
				c.look()
			}
		})
	}
}
