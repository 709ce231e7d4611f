// Package stories reads what tests play: scripts of stories, an act a line.
//
// # Purpose
//
// A file begins with a text for its readers. Each story begins with a line "story: NAME"; its acts follow, a line each.
// "#" at the beginning of a line or behind a space begins a comment. What an act means, the test knows; one of what is
// said has texts, see [Cut]. Where a test prints what it sees, package datadriven is better; a table has a row for each
// case, see [Rows].
package stories

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Story is one story: its name, and its acts without comments and empty lines.
type Story struct {
	Name string
	Acts []string
}

// Read returns the stories of the files that match a pattern of [filepath.Glob]. The test fails where no file does, and
// at a file without a story.
func Read(t testing.TB, pattern string) []Story {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories are at %s: %v", pattern, err)
	}
	var all []Story
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(text), "\nstory: ")
		if !found {
			t.Fatalf("%s has no story", file)
		}
		for part := range strings.SplitSeq(rest, "\nstory: ") {
			name, acts, _ := strings.Cut(part, "\n")
			all = append(all, Story{name, lines(acts)})
		}
	}
	return all
}

func lines(acts string) (all []string) {
	for line := range strings.Lines(acts) {
		line, _, _ = strings.Cut(" "+line, " #")
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Rows are those of a table in a file: a line each, what is given and the texts of what is to come of it, see [Cut].
// Lines before the first empty line, and those that begin with "#", are comments. The test fails if there is no row.
func Rows(t testing.TB, file string, known ...string) iter.Seq2[string, Texts] {
	t.Helper()
	text, err := os.ReadFile(file)
	_, rows, _ := strings.Cut(string(text), "\n\n")
	all := slices.DeleteFunc(strings.Split(rows, "\n"), func(row string) bool { return row == "" || row[0] == '#' })
	if err != nil || len(all) == 0 {
		t.Fatalf("%s has no rows: %v", file, err)
	}
	return func(yield func(string, Texts) bool) {
		for _, row := range all {
			if !yield(Cut(row, known...)) {
				return
			}
		}
	}
}

// Texts are what is to be said, and what is not.
type Texts struct{ Want, Never []string }

// Cut takes the texts off an act: "=>" stands before each that is to be said, "=>!" before one that is not. "\n" is the
// end of a line in texts and act, and what is known by other names stands there too: it is given as for
// [strings.NewReplacer].
func Cut(act string, known ...string) (string, Texts) {
	replace := strings.NewReplacer(append(known, `\n`, "\n")...)
	parts := strings.Split(act, " =>")
	var t Texts
	for _, text := range parts[1:] {
		never, ok := strings.CutPrefix(text, "! ")
		if text = replace.Replace(strings.TrimSpace(never)); ok {
			t.Never = append(t.Never, text)
		} else {
			t.Want = append(t.Want, text)
		}
	}
	return replace.Replace(strings.TrimSpace(parts[0])), t
}

// In tells whether a text has all that is wanted, and nothing else of them.
func (t Texts) In(text string) bool {
	has := func(part string) bool { return strings.Contains(text, part) }
	return !slices.ContainsFunc(t.Want, func(part string) bool { return !has(part) }) &&
		!slices.ContainsFunc(t.Never, has)
}
