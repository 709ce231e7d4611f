package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// suites are those of the contracts, in the order of the table's columns: the names of their tests without "Test".
var suites = []string{"Docs", "Log", "Seed", "Watch", "LogWatch", "Sessions", "Faults", "Stories"}

// matrix counts, for each store, how the tests of each suite ended.
type matrix map[string]map[string]*cell

type cell struct{ passed, failed, skipped int }

// note takes the end of a test in, if it belongs to a suite.
func (m matrix) note(e event) {
	store, suite, ok := suiteOf(e.Package, e.Test)
	if !ok {
		return
	}
	if m[store] == nil {
		m[store] = make(map[string]*cell)
	}
	c := m[store][suite]
	if c == nil {
		c = new(cell)
		m[store][suite] = c
	}
	switch e.Action {
	case "pass":
		c.passed++
	case "fail":
		c.failed++
	case "skip":
		c.skipped++
	}
}

// suiteOf tells of which store and suite a test is a part: TestDocs and what is below it in store/etcd, TestStoriesOnFile in protocol/replica.
func suiteOf(pkg, test string) (store, suite string, ok bool) {
	top, _, _ := strings.Cut(test, "/")
	top, isTest := strings.CutPrefix(top, "Test")
	i := slices.IndexFunc(suites, func(s string) bool { return top == s || s == "Stories" && strings.HasPrefix(top, s) })
	if !isTest || i < 0 {
		return "", "", false
	}
	if _, name, found := strings.Cut(pkg, "/store/"); found && !strings.Contains(name, "/") {
		return name, suites[i], true
	}
	name, found := strings.CutPrefix(top, "StoriesOn")
	return strings.ToLower(name), suites[i], found && name != ""
}

// String is the table; "" where no suite was met.
func (m matrix) String() string {
	if len(m) == 0 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "store\t%s\n", strings.Join(suites, "\t"))
	for _, store := range slices.Sorted(maps.Keys(m)) {
		row := []string{store}
		for _, s := range suites {
			row = append(row, m[store][s].String())
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return b.String()
}

// String is "12 ok", with what failed or did not run; "-" where there is no such suite.
func (c *cell) String() string {
	if c == nil {
		return "-"
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.failed, "FAILED"}, {c.passed, "ok"}, {c.skipped, "not run"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}
