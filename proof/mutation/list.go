package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/proof/mutant"
)

//go:embed by-hand/*.txt
var byHand embed.FS

// listed is a fault of a list: one that a good engineer could make.
type listed struct {
	mutant.Flaw
	packages []string // whose tests should notice it; the first one that does is enough
	missed   string   // why none does; empty where one should
}

// areas are the names of the lists.
func areas() []string {
	files, err := fs.Glob(byHand, "by-hand/*.txt")
	if err != nil {
		panic(err) // the pattern is good
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".txt")
	}
	return files
}

// readArea reads the list of an area.
func readArea(area string) ([]listed, error) {
	text, err := byHand.ReadFile("by-hand/" + area + ".txt")
	if err != nil {
		return nil, fmt.Errorf("there is no area %q; try: one of %s", area, strings.Join(areas(), ", "))
	}
	list, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("by-hand/%s.txt: %w", area, err)
	}
	return list, nil
}

// parse reads a list. Each of its faults is a block of lines:
//
//	fault: what the code does wrong with it
//	file: lock/keeper.go
//	tests: ./lock ./node
//	# missed: why no test notices it
//	-	the old text, which the file has once
//	+	the new text
//
// Without tests, those of the file's own package should notice it. An old line after a new one begins another change of the same fault.
func parse(text string) ([]listed, error) {
	var list []listed
	after := byte(0) // the sign of the line before: of two changes, the second begins at a - behind a +
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		sign := byte(0)
		key, rest, _ := strings.Cut(line, ": ")
		rest = strings.TrimSpace(rest)
		switch {
		case key == "fault":
			list = append(list, listed{Flaw: mutant.Flaw{Name: rest}})
		case line == "", strings.HasPrefix(line, "#") && key != "# missed":
		case len(list) == 0:
			return nil, fmt.Errorf("line %d is before the first fault", i+1)
		default:
			f := &list[len(list)-1]
			if line[0] == '-' || line[0] == '+' {
				sign = line[0]
				f.change(line, after)
			} else if err := f.set(key, rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		after = sign
	}
	for i := range list {
		if err := list[i].complete(); err != nil {
			return nil, fmt.Errorf("fault %q: %w", list[i].Name, err)
		}
	}
	return list, nil
}

func (f *listed) set(key, value string) error {
	switch key {
	case "file":
		f.File = value
	case "tests":
		f.packages = strings.Fields(value)
	case "# missed":
		f.missed = value
	default:
		return fmt.Errorf("%q is no key; try: fault, file, tests, or a text behind - or +", key)
	}
	return nil
}

// change adds a line of an old text or of a new one; after is the sign of the line before.
func (f *listed) change(line string, after byte) {
	sign, text := line[0], line[1:]
	if after == 0 || sign == '-' && after == '+' {
		f.Changes = append(f.Changes, mutant.Change{})
	}
	c := &f.Changes[len(f.Changes)-1]
	to := &c.Old
	if sign == '+' {
		to = &c.New
	}
	if sign == after {
		*to += "\n"
	}
	*to += text
}

func (f *listed) complete() error {
	if f.Name == "" || f.File == "" || len(f.Changes) == 0 {
		return errors.New("it needs a name, a file and a change")
	}
	if slices.ContainsFunc(f.Changes, func(c mutant.Change) bool { return c.Old == "" }) {
		return errors.New("a change has no old text")
	}
	if f.packages == nil {
		f.packages = []string{"./" + path.Dir(f.File)}
	}
	return nil
}
