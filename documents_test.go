package rota_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
)

// TestReadmeExample compares the Go code of README.md with [Example], which is compiled and run.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	readme := must.Get(os.ReadFile("README.md"))(t)
	_, rest, found := strings.Cut(string(readme), "```go\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("README.md has no Go code")
	}
	if lines := strings.Count(code, "\n"); lines > 20 {
		t.Errorf("the example has %d lines, at most 20 are wanted", lines)
	}
	example := must.Get(os.ReadFile("example_test.go"))(t)
	_, rest, _ = strings.Cut(string(example), "func report(ctx context.Context, store rota.Store) error {\n")
	body, _, _ := strings.Cut(rest, "\n}\n")
	if want := strings.ReplaceAll("\t"+strings.TrimSuffix(code, "\n"), "\n", "\n\t"); body != want {
		t.Errorf("example_test.go has\n%s\nREADME.md has\n%s", body, want)
	}
}

// TestTrackRecordIsShort keeps docs/internals/track-record.md a table that people can read.
func TestTrackRecordIsShort(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("docs/internals/track-record.md"))(t)
	table, _, _ := strings.Cut(string(text), "\n## ")
	rows, seen := 0, make(map[string]bool)
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| 20") {
			continue
		}
		if rows++; seen[line] {
			t.Errorf("twice: %s", line)
		}
		seen[line] = true
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 160 || strings.Count(line, " | ") != 3 {
			t.Errorf("%d characters, want at most 160 and four cells: %s", n, line)
		}
	}
	if rows < 166 {
		t.Errorf("%d bugs, but 166 were known", rows)
	}
}

// Each test that SECURITY.md names is there: a row without one shows nothing.
func TestThreatsHaveTheirTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("SECURITY.md")
	must.Succeed(t, err)
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:Test|Fu)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	if len(named) < 20 {
		t.Fatalf("it names %d tests: this test looks in the wrong way", len(named))
	}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fu)[A-Za-z0-9]+)\(`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			delete(named, string(m[1]))
		}
		return err
	})
	must.Succeed(t, err)
	for name := range named {
		t.Errorf("SECURITY.md names %s, and there is no such test", name)
	}
}

// Each decision has one title: that of its record, and that of the list.
func TestDecisionsHaveOneTitle(t *testing.T) {
	t.Parallel()
	list := must.Get(os.ReadFile("docs/decisions/README.md"))(t)
	rows := regexp.MustCompile(`(?m)^\| \[(\d+)\]\(([^)]+)\) \| (.*?) \| `).FindAllSubmatch(list, -1)
	for _, m := range rows {
		record := must.Get(os.ReadFile(filepath.Join("docs/decisions", string(m[2]))))(t)
		title, _, _ := strings.Cut(string(record), "\n")
		if want := "# " + string(m[1]) + ". " + string(m[3]); title != want {
			t.Errorf("the record has the title %q, the list %q", title, want)
		}
	}
	if files, err := filepath.Glob("docs/decisions/0*.md"); err != nil || len(files) != len(rows) {
		t.Errorf("%d records, %d rows: %v", len(files), len(rows), err)
	}
}

// go doc shows no methods of an alias: the comment of Grant names all of them.
func TestGrantNamesItsMethods(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("rota.go"))(t)
	before, _, _ := strings.Cut(string(text), "Grant = work.Grant")
	comment := before[strings.LastIndex(before, "// Grant is"):]
	methods := reflect.TypeFor[*rota.Grant]()
	for i := range methods.NumMethod() {
		if name := methods.Method(i).Name; !strings.Contains(comment, name) {
			t.Errorf("the comment does not name %s", name)
		}
	}
}

// TestSourcesNameTests: each row of the page on the source documents names a test that exists, a decision, or what is
// open.
func TestSourcesNameTests(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("docs/internals/sources.md"))(t)
	tests := map[string]bool{}
	must.Succeed(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Example)\w+)\(`).FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	}))
	rows := regexp.MustCompile(`(?m)^\| (.*) \| (.*) \| (.*) \|$`).FindAllSubmatch(page, -1)
	names := regexp.MustCompile("`((?:Test|Example)\\w+)`")
	for _, row := range rows {
		found := names.FindAllSubmatch(row[3], -1)
		for _, m := range found {
			if !tests[string(m[1])] {
				t.Errorf("%s: there is no %s", row[1], m[1])
			}
		}
		shown := string(row[3])
		if len(found) == 0 && !strings.Contains(shown, "../decisions/") && !strings.HasPrefix(shown, "open: ") &&
			shown != "shown by" {
			t.Errorf("%s: neither a test nor a decision, and not open", row[1])
		}
	}
	if len(rows) < 70 {
		t.Errorf("the page has %d rows", len(rows))
	}
}
