package laws

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func load(t *testing.T) []*File {
	t.Helper()
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("%d files found: the walk is broken", len(files))
	}
	return files
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

func each(law func(*File) []string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for _, f := range load(t) {
			report(t, law(f))
		}
	}
}

func TestImports(t *testing.T)  { each(Imports)(t) }
func TestPurity(t *testing.T)   { each(Purity)(t) }
func TestWords(t *testing.T)    { each(Words)(t) }
func TestSleeps(t *testing.T)   { each(Sleeps)(t) }
func TestHeadings(t *testing.T) { each(Headings)(t) }

func TestMapOrder(t *testing.T) {
	t.Parallel()
	report(t, MapOrder(pureFiles(t, root, "cluster")))
	report(t, MapOrder(pureFiles(t, root, "schedule")))
}

// pureFiles parses the files of one directory with one set of positions, as the type checker wants it.
func pureFiles(t *testing.T, root, dir string) []*File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var files []*File
	for _, n := range names {
		if strings.HasSuffix(n, "_test.go") {
			continue
		}
		files = append(files, nil)
		f, err := ParseInto(files, n, dir+"/"+filepath.Base(n))
		if err != nil {
			t.Fatal(err)
		}
		files[len(files)-1] = f
	}
	return files
}

// TestEachLawCanFail runs every law on a file that breaks it; the file names the words that the fault must have.
func TestEachLawCanFail(t *testing.T) {
	t.Parallel()
	cases := []struct {
		file, as string
		law      func(*File) []string
	}{
		{"import_up.go", "cluster/x.go", Imports},
		{"import_unknown.go", "nowhere/x.go", Imports},
		{"impure_clock.go", "cluster/x.go", Purity},
		{"impure_go.go", "protocol/replica/step_x.go", Purity},
		{"impure_float.go", "schedule/x.go", Purity},
		{"undocumented.go", "api/x.go", Words},
		{"init.go", "api/x.go", Words},
		{"sleep.go", "api/x_test.go", Sleeps},
		{"skip.go", "api/x_test.go", Sleeps},
		{"maps.go", "cluster/x.go", func(f *File) []string { return MapOrder([]*File{f}) }},
		{"headings.go", "protocol/replica/doc.go", Headings},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join("testdata", c.file)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, want, ok := strings.Cut(strings.SplitN(string(text), "\n", 2)[0], "// want: ")
			if !ok {
				t.Fatal("the first line must be // want: words of the fault")
			}
			f, err := Parse(name, c.as)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.law(f), "\n"); !strings.Contains(got, want) {
				t.Errorf("the law does not see it: got %q, want %q", got, want)
			}
		})
	}
}
