package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stage is one part of the proof: a command, and what it must have done.
type stage struct {
	name     string
	dir      string   // from the root of the repository
	command  []string // go test with -json, or a program whose last line is a JSON object
	tests    bool     // the command prints the JSON lines of go test
	rerun    bool     // a test that fails runs once more: it uses real servers or processes
	beside   bool     // it mostly waits: it plays beside its neighbours in the table that say so too
	lends    bool     // it has real processes, and leaves the processors idle at times: stages that compute play beside it
	computes bool     // it only computes, and nothing in it is late: it plays at the lowest priority beside those that lend
	memory   int      // the GB that it takes at most on two cores; 0: no more than one
	least    amounts
}

// amounts are figures of a stage by name. For tests: "passed", "passed PACKAGE", "suites PACKAGE"; else the numbers of the JSON object, the
// lengths of its lists, and 1 for what is true.
type amounts map[string]float64

func (s stage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: (cd %s && %s)", s.name, s.dir, strings.Join(s.command, " "))
	for _, what := range slices.Sorted(maps.Keys(s.least)) {
		fmt.Fprintf(&b, "\n    at least %g %s", s.least[what], what)
	}
	return b.String()
}

// missing compares what was done with the least amounts.
func (s stage) missing(done amounts) []string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(s.least)) {
		if done[what] < s.least[what] {
			out = append(out, fmt.Sprintf("%s: %g of at least %g", what, done[what], s.least[what]))
		}
	}
	return out
}
