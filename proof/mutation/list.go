package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
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

// parse reads a list with two keys more than each has: the packages of the tests, without which those of the file's own package should notice the fault, and why
// no test notices it.
func parse(text string) ([]listed, error) {
	all, err := mutant.ParseList(text, "tests", "# missed")
	var list []listed
	for _, f := range all {
		l := listed{f.Flaw, strings.Fields(f.Notes["tests"]), f.Notes["# missed"]}
		if len(l.packages) == 0 {
			l.packages = []string{"./" + path.Dir(f.File)}
		}
		list = append(list, l)
	}
	return list, err
}
