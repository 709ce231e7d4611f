package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Set is a list of flaws that one program has at once. At its start it takes one of them, or none: each function that a
// flaw changes has both texts, and asks which. A flaw of a set changes the bodies of functions only. The delivered
// source stays as it is; the question is in the overlay alone.
type Set []Flaw

// The variable of the environment that chooses, and the one of the program.
const (
	chosenVariable = "ROTA_FLAW"
	chosenName     = "rotaFlawChosen"
)

// Build builds a package of the module with all flaws and returns the path of the program, which is in dir. Without
// more it has none.
func (s Set) Build(ctx context.Context, root, dir, pkg string) (string, error) {
	return s.compile(ctx, root, dir, pkg, program)
}

// BuildTests builds the tests of a package as Build does the package. They expect to be run in the package's directory.
func (s Set) BuildTests(ctx context.Context, root, dir, pkg string) (string, error) {
	return s.compile(ctx, root, dir, pkg, tests)
}

// Environ is the environment in which the program has the flaw of that name.
func (s Set) Environ(name string) ([]string, error) {
	i := slices.IndexFunc(s, func(f Flaw) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no flaw is named %q", name)
	}
	return append(os.Environ(), chosenVariable+"="+strconv.Itoa(i+1)), nil
}

// Sound is the environment in which the program has no flaw.
func (s Set) Sound() []string { return append(os.Environ(), chosenVariable+"=0") }

// Check is an error unless every flaw fits the source at root and has a name of its own. It compiles nothing.
func (s Set) Check(root string) error {
	_, err := s.overlay(root)
	return err
}

func (s Set) compile(ctx context.Context, root, dir, pkg string, how []string) (string, error) {
	o, err := s.overlay(root)
	if err != nil {
		return "", err
	}
	return o.compile(ctx, root, dir, pkg, how)
}

// overlay has each file with its flaws, and a file for each package that says which is chosen.
func (s Set) overlay(root string) (overlay, error) {
	o := make(overlay)
	for i, f := range s {
		if slices.ContainsFunc(s[:i], func(other Flaw) bool { return other.Name == f.Name }) {
			return nil, fmt.Errorf("two flaws are named %q", f.Name)
		}
		path := f.path(root)
		if _, done := o[path]; done {
			continue
		}
		b, err := os.ReadFile(path) //nolint:gosec // of the table of flaws
		if err != nil {
			return nil, err
		}
		name, text, err := s.merge(f.File, string(b))
		if err != nil {
			return nil, err
		}
		o[path] = text
		o[filepath.Join(filepath.Dir(path), "rota_flaw_chosen.go")] = chosenFile(name)
	}
	return o, nil
}

func chosenFile(pkg string) string {
	return fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar %s, _ = strconv.Atoi(os.Getenv(%q))\n", pkg, chosenName, chosenVariable)
}

// BuildViable builds the tests of a package as BuildTests does, but with those flaws only that the compiler takes,
// which it returns. It is for flaws that a machine made: not each of them is a program.
func (s Set) BuildViable(ctx context.Context, root, dir, pkg string) (viable Set, path string, err error) {
	for {
		path, err := s.BuildTests(ctx, root, dir, pkg)
		var refused *refusedError
		if !errors.As(err, &refused) {
			return s, path, err
		}
		bad := refused.flaws(root, filepath.Join(root, pkg), dir)
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

// flaws are the numbers of the flaws that the compiler complained of: each line belongs to the nearest head of a flaw
// above it. The compiler's paths begin at the root, at the package, or are whole, whichever is the shortest.
func (e *refusedError) flaws(root, home, dir string) map[int]bool {
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
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(home, c[1])
			}
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
