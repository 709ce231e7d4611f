package directory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func types() work.Types {
	accepts := func(work.Definition) (work.Runner, error) { return work.RunnerFunc(nil), nil }
	return work.Types{"noop": {Name: "noop", Periodic: true, New: accepts}}
}

// tree makes a directory: name → content, "→target" for a link, names that end with a slash for directories.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	grow(t, dir, files)
	return dir
}

func grow(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(full), 0o750))
		switch target, link := strings.CutPrefix(content, "→"); {
		case strings.HasSuffix(name, "/"):
			must.Succeed(t, os.MkdirAll(full, 0o750))
		case link:
			must.Succeed(t, os.Symlink(target, full))
		default:
			put(t, full, content)
		}
	}
}

// put makes a file, or writes over it, in one step: who looks at any time sees the one content or the other, and not a
// file that is empty yet. Where the new content is shorter, newlines stand behind it.
func put(t *testing.T, name, content string) {
	t.Helper()
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		draft := filepath.Join(t.TempDir(), "draft")
		must.Succeed(t, os.WriteFile(draft, []byte(content), 0o600))
		must.Succeed(t, os.Link(draft, name))
		must.Succeed(t, os.Remove(draft))
		return
	}
	must.Succeed(t, err)
	f := must.Get(os.OpenFile(name, os.O_WRONLY, 0))(t)
	_, err = f.WriteString(content + strings.Repeat("\n", max(0, int(info.Size())-len(content))))
	must.Succeed(t, errors.Join(err, f.Close()))
}

// describe is a scan as text, with the directory as D.
func describe(dir string, s Scan) string {
	var out []string
	for _, d := range s.Definitions {
		out = append(out, fmt.Sprintf("%s %s %s", d.ID, d.Path, d.Spec.Source))
	}
	for _, e := range s.Faults {
		out = append(out, "! "+e.Error())
	}
	if len(s.Blocked) > 0 {
		out = append(out, fmt.Sprint("blocked ", s.Blocked))
	}
	if !s.Complete {
		out = append(out, "incomplete")
	}
	if s.Ignored > 0 {
		out = append(out, fmt.Sprint("ignored ", s.Ignored))
	}
	if len(s.Empty) > 0 {
		out = append(out, fmt.Sprint("empty ", s.Empty))
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), dir, "D")
}

const good = "type: noop\n"

func TestScan(t *testing.T) {
	t.Parallel()
	contents := strings.NewReplacer("good", good, `\n`, "\n")
	for _, story := range stories.Read(t, "testdata/scan.txt") {
		t.Run(story.Name, func(t *testing.T) {
			t.Parallel()
			files, said := map[string]string{}, []string(nil)
			for _, act := range story.Acts {
				if name, rest, _ := strings.Cut(act, " "); name == "=" {
					said = append(said, rest)
				} else {
					files[name] = contents.Replace(rest)
				}
			}
			dir, want := tree(t, files), strings.Join(said, "\n")
			if got := describe(dir, ScanDirs([]string{dir}, "s", types())); got != want || want == "" {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestScanOfSeveralDirectories(t *testing.T) {
	t.Parallel()
	one, two := tree(t, map[string]string{"a.yaml": good, "sub/b.yaml": good}),
		tree(t, map[string]string{"c.yaml": good})
	s := ScanDirs([]string{one, two, filepath.Join(one, "sub"), one}, "s", types())
	if len(s.Definitions) != 3 || len(s.Faults) != 0 {
		t.Errorf("directories in one another, and twice: got %s", describe(one, s))
	}
	s = ScanDirs([]string{one, filepath.Join(two, "missing")}, "s", types())
	if len(s.Definitions) != 2 || s.Complete || !strings.Contains(s.Faults[0].Error(),
		"missing: cannot be read: no such file or directory (nothing is removed until it can be)") {
		t.Errorf("a missing directory: got %s", describe(one, s))
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": good, "sub/b.yaml": good, "c.yaml": good})
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	l := look{Scanner: NewScanner([]string{dir}, "s", types()), scan: Scan{Complete: true}}
	must.Succeed(t, l.entry(disk{root}, dir, "sub", nil, &fs.PathError{Op: "open", Path: "sub", Err: syscall.EACCES}))
	want := "! D/sub: cannot be read: permission denied (nothing is removed until it can be)\nincomplete"
	if got := describe(dir, l.scan); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	l.scan = Scan{Complete: true}
	must.Succeed(t, l.entry(disk{root}, dir, "sub", nil, &fs.PathError{Op: "open", Path: "sub", Err: syscall.ENOENT}))
	if l.scan.Faults != nil || !l.scan.Unsettled {
		t.Errorf("a directory that vanished: got %+v, want a second look", l.scan)
	}
	must.Succeed(t, l.entry(disk{root}, dir, ".", nil, &fs.PathError{Op: "stat", Path: ".", Err: syscall.ENOENT}))
	if l.scan.Complete {
		t.Error("the directory itself vanished, and the scan is complete: all of its tasks would be removed")
	}
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: root may read everything; run this test as another user")
	}
	dir := tree(t, map[string]string{"a.yaml": good, "sub/b.yaml": good, "c.yaml": good})
	must.Succeed(t, os.Chmod(filepath.Join(dir, "a.yaml"), 0))
	must.Succeed(t, os.Chmod(filepath.Join(dir, "sub"), 0))
	t.Cleanup(func() { must.Succeed(t, os.Chmod(filepath.Join(dir, "sub"), 0o700)) }) //nolint:gosec // so that it can be removed
	s := ScanDirs([]string{dir}, "s", types())
	want := "c D/c.yaml s\n! D/a.yaml: cannot be read: permission denied (nothing is removed until it can be)\n" +
		"! D/sub: cannot be read: permission denied (nothing is removed until it can be)\nblocked [a]\nincomplete"
	if got := describe(dir, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestScannerAgreesWithAFreshOne: remembering contents changes no outcome.
func TestScannerAgreesWithAFreshOne(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": good})
	s := NewScanner([]string{dir}, "s", types())
	for i, change := range []map[string]string{
		nil, {"a.yaml": "type: nopp\n"}, {"a.yaml": "type: noop "}, {"b.yaml": "type: noop\nevery: 1s\n"},
		{"b.yaml": "type: noop\nevery: 2s\n"}, {"sub/a.yaml": good},
	} {
		grow(t, dir, change)
		got, want := s.Scan(), ScanDirs([]string{dir}, "s", types())
		if describe(dir, got) != describe(dir, want) {
			t.Errorf("step %d: got\n%s\nwant\n%s", i, describe(dir, got), describe(dir, want))
		}
		for j := range min(len(got.Definitions), len(want.Definitions)) {
			if !same(got.Definitions[j].Spec, want.Definitions[j].Spec) {
				t.Errorf("step %d: %s has another spec than in the file", i, got.Definitions[j].ID)
			}
		}
	}
	must.Succeed(t, os.RemoveAll(filepath.Join(dir, "sub")))
	if got := s.Scan(); len(got.Definitions) != 2 || len(s.known.files) != 2 {
		t.Errorf("got %s and %d contents remembered, want 2", describe(dir, got), len(s.known.files))
	}
}

func BenchmarkScan(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		text := fmt.Appendf(nil,
			"type: noop\nevery: %ds\nconfig: {url: \"https://example.org/\", expect: {status: 200}}\n", i+1)
		must.Succeed(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("task-%d.yaml", i)), text, 0o600))
	}
	for name, fresh := range map[string]bool{"first": true, "again": false} {
		b.Run(name, func(b *testing.B) {
			s := NewScanner([]string{dir}, "s", types())
			for b.Loop() {
				if fresh {
					s.known = newContents()
				}
				if got := s.Scan(); len(got.Definitions) != 1000 {
					b.Fatalf("%d definitions", len(got.Definitions))
				}
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "files/s")
		})
	}
}

// Files that a program gives are read as those of a directory are, and with them.
func TestFilesOfAProgram(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": good})
	files := fstest.MapFS{
		"sub/b.yaml": {Data: []byte(good)}, "c.yaml": {Data: []byte("type: [")}, ".hidden.yaml": {Data: []byte(good)},
		"note.txt": {Data: []byte("x")},
		"big.yaml": {Data: bytes.Repeat([]byte("#"), source.MaxFile+1)},
	}
	s := NewCache().Scan([]string{dir}, files, "s", types())
	var ids []string
	for _, d := range s.Definitions {
		ids = append(ids, string(d.ID)+" "+strings.TrimPrefix(d.Path, dir+"/"))
	}
	if got := strings.Join(ids, ", "); got != "a a.yaml, b program/sub/b.yaml" || len(s.Faults) != 2 || !s.Complete ||
		s.Ignored != 1 || len(s.Folders) != 1 {
		t.Errorf("got %s, %d faults, %+v", got, len(s.Faults), s)
	}
	files["a.yaml"] = &fstest.MapFile{Data: []byte(good)}
	if s = NewCache().Scan([]string{dir}, files, "s", types()); len(s.Definitions) != 1 || len(s.Faults) != 4 {
		t.Errorf("a task in both: %d definitions, faults %v", len(s.Definitions), s.Faults)
	}
	if got := Names(map[string][]string{"s": {dir}}, map[string]fs.FS{"a": files, "s": files}); !slices.Equal(got,
		[]string{"a", "s"}) {
		t.Errorf("the sources are %q", got)
	}
	if s = NewCache().Scan(nil, failingFS{}, "s", types()); s.Complete {
		t.Error("files that cannot be read: the scan is complete, so tasks would be removed")
	}
}

// stored is files of a database.
type stored struct{ fs.FS }

func (stored) Storage() string { return "database" }

func TestFaultsNameTheStorage(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": "type: ["})
	s := NewCache().Scan([]string{dir},
		stored{fstest.MapFS{"b.yaml": {Data: []byte("type: [")}, "c.yaml": {Data: []byte(good)}}}, "s", types())
	var got []string
	for _, e := range s.Faults {
		r := e.Record()
		got = append(got, r.Storage.Type+" "+strings.TrimPrefix(r.Storage.Path, dir+"/")+" "+r.Partition)
	}
	if want := "directory a.yaml a, database database/b.yaml b"; strings.Join(got, ", ") != want &&
		strings.Join([]string{got[1], got[0]}, ", ") != want || s.Definitions[0].Path != "database/c.yaml" {
		t.Errorf("got %q, %+v", got, s.Definitions)
	}
}

// A fault that one scanner of a process has is not changed by the scan of another one: it is a copy, and the race
// detector sees no writer.
func TestScannersChangeNoFault(t *testing.T) {
	t.Parallel()
	cache, files := NewCache(), stored{fstest.MapFS{"b.yaml": {Data: []byte("type: [")}}}
	first := cache.Scan(nil, files, "s", types())
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if got := first.Faults[0].Record().Storage.Type; got != "database" {
			t.Errorf("got %q", got)
		}
	})
	cache.of("s").last = nil // so that the second one looks itself
	second := cache.Scan(nil, files, "s", types())
	if second.Faults[0].Storage != "database" {
		t.Errorf("got %+v", second.Faults[0])
	}
	if second.Faults[0] == first.Faults[0] {
		t.Error("two scanners have one fault, and each writes into it")
	}
}

type failingFS struct{}

func (failingFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

// A process has one spec for each job: that of the value, once the job is there.
func TestOneSpecForEachJob(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yaml": good, "b.yaml": good})
	cache := NewCache()
	scan := cache.Scan([]string{dir}, nil, "s", types())
	w := &world{}
	for _, d := range scan.Definitions {
		other := *d.Spec
		if d.ID == "b" {
			other.Source = "another"
		}
		w.apply(cluster.SubmitJob{Job: d.ID, Spec: other})
	}
	cache.of("s").intern(w.value)
	for _, id := range []cluster.JobID{"a", "b"} {
		job, _ := w.value.Job(id)
		p := cache.of("s").files[filepath.Join(dir, string(id)+".yaml")]
		if one := p.spec == job.Spec; one != (id == "a") {
			t.Errorf("%s: the spec is the value's: %t", id, one)
		}
	}
}
