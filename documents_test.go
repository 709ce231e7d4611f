package rota_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestReadmeExample compares the Go code of README.md with [Example], which is compiled and run.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("README.md has no Go code")
	}
	if lines := strings.Count(code, "\n"); lines > 20 {
		t.Errorf("the example has %d lines, at most 20 are wanted", lines)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ = strings.Cut(string(example), "func hello(ctx context.Context) error {\n")
	body, _, _ := strings.Cut(rest, "\n}\n")
	if want := strings.ReplaceAll("\t"+strings.TrimSuffix(code, "\n"), "\n", "\n\t"); body != want {
		t.Errorf("example_test.go has\n%s\nREADME.md has\n%s", body, want)
	}
}

// TestTrackRecordIsShort keeps docs/track-record.md a table that people can read.
func TestTrackRecordIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/track-record.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| 20") {
			continue
		}
		rows++
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 160 || strings.Count(line, " | ") != 3 {
			t.Errorf("%d characters, want at most 160 and four cells: %s", n, line)
		}
	}
	if rows < 166 {
		t.Errorf("%d bugs, but 166 were known", rows)
	}
}
