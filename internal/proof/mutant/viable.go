package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// BuildViable builds the tests of a package as BuildTests does, but with those flaws only that the compiler takes, which it returns.
// It is for flaws that a machine made: not each of them is a program.
func (s Set) BuildViable(ctx context.Context, root, dir, pkg string) (viable Set, path string, err error) {
	for {
		path, err := s.BuildTests(ctx, root, dir, pkg)
		var refused *refusedError
		if !errors.As(err, &refused) {
			return s, path, err
		}
		bad := refused.flaws(root, dir)
		if len(bad) == 0 {
			return nil, "", err
		}
		var rest Set
		for i, f := range s {
			if !bad[i+1] {
				rest = append(rest, f)
			}
		}
		s = rest
	}
}

// refusedError is what the compiler said of a program that it refused.
type refusedError struct {
	cause error
	said  string
}

func (e *refusedError) Error() string { return "build: " + e.cause.Error() + ": " + e.said }
func (e *refusedError) Unwrap() error { return e.cause }

var (
	complaint  = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)
	chosenHead = regexp.MustCompile(`^if ` + chosenName + ` == (\d+) \{`)
)

// flaws are the numbers of the flaws that the compiler complained of: each line belongs to the nearest head of a flaw above it.
func (e *refusedError) flaws(root, dir string) map[int]bool {
	bad := make(map[int]bool)
	b, err := os.ReadFile(filepath.Join(dir, tableName)) //nolint:gosec // written by write
	var table struct{ Replace overlay }
	if err != nil || json.Unmarshal(b, &table) != nil {
		return nil
	}
	texts := make(map[string][]string)
	for _, c := range complaint.FindAllStringSubmatch(e.said, -1) {
		path := c[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		if changed, ok := table.Replace[path]; ok {
			path = changed
		}
		if _, ok := texts[path]; !ok {
			text, _ := os.ReadFile(path) //nolint:gosec // a source file; one that cannot be read has no flaws
			texts[path] = strings.Split(string(text), "\n")
		}
		line, _ := strconv.Atoi(c[2]) // digits
		if n := flawAbove(texts[path], line); n > 0 {
			bad[n] = true
		}
	}
	return bad
}

func flawAbove(lines []string, line int) int {
	for i := min(line, len(lines)) - 1; i >= 0; i-- {
		if m := chosenHead.FindStringSubmatch(lines[i]); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits
			return n
		}
	}
	return 0
}
