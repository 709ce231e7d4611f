// Package stories reads what tests play: scripts of stories, an act a line.
//
// # Purpose
//
// A file begins with a text for its readers. Each story begins with a line "story: NAME"; its acts follow, a line each.
// "#" begins a comment. What an act means, the test knows. Where a test prints what it sees, package datadriven is better.
package stories

import (
	"os"
	"path/filepath"
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
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
