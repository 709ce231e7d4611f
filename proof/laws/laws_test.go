package laws

import (
	_ "embed"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

const root = "../.."

// tree is the repository, parsed once for all tests.
var tree = sync.OnceValues(func() ([]*File, error) { return Load(root) }) // read-only: the files on the disk

func load(t *testing.T) []*File {
	t.Helper()
	files := must.Get(tree())(t)
	if len(files) < 50 {
		t.Fatalf("%d files found: the walk is broken", len(files))
	}
	return files
}

// packages are the files by folder, sorted by folder.
func packages(files []*File) [][]*File {
	var dirs []string
	byDir := make(map[string][]*File)
	for _, f := range files {
		if byDir[f.Dir] == nil {
			dirs = append(dirs, f.Dir)
		}
		byDir[f.Dir] = append(byDir[f.Dir], f)
	}
	slices.Sort(dirs)
	out := make([][]*File, 0, len(dirs))
	for _, d := range dirs {
		out = append(out, byDir[d])
	}
	return out
}

// perFile are the laws that look at one file at a time.
func perFile() []struct {
	name string
	law  func(*File) []string
} {
	return []struct {
		name string
		law  func(*File) []string
	}{
		{"imports", Imports}, {"floors", Floors}, {"vendors", Vendors}, {"purity", Purity}, {"documented", Documented},
		{"sizes", Sizes}, {"globals", Globals}, {"errors", Errors}, {"tests", Tests}, {"columns", Columns},
		{"methods", Methods},
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	for _, l := range perFile() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range load(t) {
				report(t, l.law(f))
			}
		})
	}
	t.Run("headings", func(t *testing.T) {
		t.Parallel()
		for _, p := range packages(load(t)) {
			report(t, Headings(p))
		}
	})
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		faults, read, err := Text(root)
		if err != nil || read < 50 {
			t.Fatalf("%d files read, %v: the walk is broken", read, err)
		}
		report(t, faults)
	})
	t.Run("links", func(t *testing.T) {
		t.Parallel()
		faults, followed, err := Links(root)
		if err != nil || followed < 10 {
			t.Fatalf("%d links followed, %v: the walk is broken", followed, err)
		}
		report(t, faults)
	})
}

// TestMapShowsTheFloors: docs/internals/house.md has the table of floors as it is.
func TestMapShowsTheFloors(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "internals", "house.md")))(t)
	if !strings.Contains(string(page), "```\n"+FloorTable+"```\n") {
		t.Error("docs/internals/house.md does not show proof/laws/floors.txt as it is")
	}
}

func TestBrokenLinksAreSeen(t *testing.T) {
	t.Parallel()
	followed, faults := brokenLinks(".", "x.md",
		"[a](doc.go) [b](nowhere.md)\n[c](https://example.org/) [d](#here)\n[e](doc.go#top)\n")
	if followed != 3 || len(faults) != 1 || !strings.Contains(faults[0], "x.md:1: the link leads nowhere: nowhere.md") {
		t.Errorf("%d followed, faults %q", followed, faults)
	}
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

// TestTypes runs the laws that need types over every package that has pure files.
func TestTypes(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, files := range packages(load(t)) {
		if !slices.ContainsFunc(files, Pure) {
			continue
		}
		dir := files[0].Dir
		checked++
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			report(t, TypedPurity(typed(t, dir)))
		})
	}
	if checked < 4 {
		t.Errorf("%d packages with pure files; want at least cluster, schedule, internal/protocol/replica and work",
			checked)
	}
}

// typed checks the types of one package as it is built on this machine.
func typed(t *testing.T, dir string) *Package {
	t.Helper()
	exports, err := FindExports(".", Module+"/"+dir) // of both modules
	must.Succeed(t, err)
	names := must.Get(filepath.Glob(filepath.Join(root, dir, "*.go")))(t)
	fset := token.NewFileSet()
	var files []*File
	for _, name := range names {
		f := must.Get(Parse(fset, name, path.Join(dir, filepath.Base(name)), nil))(t)
		if !f.Test && Built(f) {
			files = append(files, f)
		}
	}
	p := must.Get(exports.Check(Module+"/"+dir, files))(t)
	return p
}

//go:embed testdata/broken.txt
var broken string

// TestEachLawCanFail runs laws on small files that break them: those of testdata/broken.txt.
func TestEachLawCanFail(t *testing.T) {
	t.Parallel()
	exports := must.Get(FindExports(".", Module+"/cluster", "fmt", "maps", "slices", "time"))(t)
	seen := make(map[string]int)
	for _, text := range strings.Split(broken, "\n== ")[1:] {
		name, text, _ := strings.Cut(text, "\nwant: ")
		want, text, _ := strings.Cut(text, "\nas: ")
		as, text, _ := strings.Cut(text, "\n")
		law := path.Dir(name)
		seen[law]++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := must.Get(Parse(token.NewFileSet(), name, as, repeated(t, text)))(t)
			got := strings.Join(judge(t, law, f, exports), "\n")
			switch {
			case want == "nothing" && got != "":
				t.Errorf("the law sees a fault where none is: %s", got)
			case want != "nothing" && !strings.Contains(got, want):
				t.Errorf("the law does not see it: got %q, want %q", got, want)
			}
		})
	}
	laws := []string{"types", "headings", "text"}
	for _, l := range perFile() {
		laws = append(laws, l.name)
	}
	for _, law := range laws {
		if seen[law] == 0 {
			t.Errorf("no file of testdata/broken.txt shows that the law of %s can fail", law)
		}
	}
}

var times = regexp.MustCompile(`(?m)^(\d+) times: (.*\n)`)

// repeated has a line "100 times: x" so many times.
func repeated(t *testing.T, text string) string {
	t.Helper()
	return times.ReplaceAllStringFunc(text+"\n", func(line string) string {
		m := times.FindStringSubmatch(line)
		n := must.Get(strconv.Atoi(m[1]))(t)
		return strings.Repeat(m[2], n)
	})
}

func judge(t *testing.T, law string, f *File, exports *Exports) []string {
	t.Helper()
	for _, l := range perFile() {
		if l.name == law {
			return l.law(f)
		}
	}
	switch law {
	case "headings":
		return Headings([]*File{f})
	case "text":
		var out []string
		for _, g := range f.AST.Comments {
			// The words stand in two halves, so that this tree does not contain them.
			out = append(out, TextOf(f.Path, strings.ReplaceAll(g.Text(), "|", ""))...)
		}
		return out
	case "types":
		p := must.Get(exports.Check(Module+"/"+f.Dir, withImpureHalf(t, f)))(t)
		return TypedPurity(p)
	}
	t.Fatalf("there is no law %q", law)
	return nil
}

// withImpureHalf adds the file of the same package that need not be pure, testdata/impure.txt, if f is a step.
func withImpureHalf(t *testing.T, f *File) []*File {
	t.Helper()
	if !strings.HasPrefix(path.Base(f.Path), "step") {
		return []*File{f}
	}
	half := must.Get(Parse(f.Fset, filepath.Join("testdata", "impure.txt"), path.Join(f.Dir, "run.go"), nil))(t)
	return []*File{f, half}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, dir string
		want         bool
	}{
		{"store", "store", true},
		{"store", "store/file", false},
		{"store/*", "store/file", true},
		{"store/*", "store", false},
		{"store/*", "store/file/x", false},
		{"cmd/…", "cmd/rota", true},
		{"proof/sim/…", "proof/sim", true},
		{"proof/sim/…", "proof/simple", false},
		{"…", "cluster", true},
	} {
		if got := matches(c.pattern, c.dir); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.pattern, c.dir, got, c.want)
		}
	}
}
