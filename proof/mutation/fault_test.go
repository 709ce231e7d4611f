package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// source has a function with each kind of place, and one that cannot be laid over the source.
const source = `package p

func f(a, b int, s []int) (int, error) {
	if a < b && !done {
		return 0, errors.New("less")
	}
	for range s {
		log.Info("next")
		a++
		continue
	}
	func() { s = nil }()
	if err := g(true); err != nil {
		s[0] = 1
		return 0, err
	}
	return -a, h()
}

func named(a int) (err error) {
	err, b := error(nil), -a
	_ = b
	return err
}
`

// TestFaultsOfAFile: the lines that the faults make.
func TestFaultsOfAFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600))
	faults, err := read(root, "p.go")
	must.Succeed(t, err)
	var got []string
	for _, f := range faults {
		got = append(got, fmt.Sprint(f.line, " ", f.text))
	}
	if want := []string{
		"12 without func() { s = nil }()",
		"4 if (a < b && !done) && false {", "4 if (a < b && !done) || true {", "4 if a < b || !done {",
		"4 if a <= b && !done {", "4 if a >= b && !done {", "4 if a < b && done {",
		"9 without a++", "10 without continue", "9 a--", "12 func() {  }()",
		"13 if err := g(true); (err != nil) && false {", "13 if err := g(true); (err != nil) || true {",
		"13 if err := g(false); err != nil {", "13 if err := g(true); err == nil {",
		"14 without s[0] = 1", "15 return 0, func(error) error { return nil }(err)",
		"17 return -a, func(error) error { return nil }(h())", "17 return +a, h()",
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTheSampleIsOfTheSeed: a seed chooses the same faults again, and another one others.
func TestTheSampleIsOfTheSeed(t *testing.T) {
	t.Parallel()
	sample := func(n int, seed uint64) (lines []int) {
		all := make([]fault, 100)
		for i := range all {
			all[i].line = i
		}
		for _, f := range choose(all, n, seed) {
			lines = append(lines, f.line)
		}
		return lines
	}
	if !slices.Equal(sample(10, 1), sample(10, 1)) || slices.Equal(sample(10, 1), sample(10, 2)) ||
		len(sample(1000, 1)) != 100 {
		t.Errorf("%v, %v, %v", sample(10, 1), sample(10, 1), sample(10, 2))
	}
}

func TestABlockHoldsItsEnds(t *testing.T) {
	t.Parallel()
	b := block{"a.go", 3, 10, 5, 2}
	for at, want := range map[[2]int]bool{{3, 10}: true, {5, 2}: true, {4, 1}: true, {3, 9}: false, {5, 3}: false,
		{2, 50}: false, {6, 1}: false} {
		if got := b.holds(fault{file: "p/a.go", line: at[0], column: at[1]}); got != want {
			t.Errorf("%v: %v, want %v", at, got, want)
		}
	}
	if b.holds(fault{file: "p/b.go", line: 4, column: 1}) {
		t.Error("of another file")
	}
}

// TestEquivalentFaultsAreLeftOut: an entry that fits no fault any more is an error.
func TestEquivalentFaultsAreLeftOut(t *testing.T) {
	t.Parallel()
	faults := []fault{{file: "p/a.go", text: "if a <= 0 {"}, {file: "p/a.go", text: "if a >= 0 {"}}
	left, err := without(faults, "p/a.go: if a <= 0 { // it is never 0\np/q/a.go: x // of another package\n", "p")
	if err != nil || len(left) != 1 || left[0].text != "if a >= 0 {" {
		t.Errorf("left are %v, %v", left, err)
	}
	for _, bad := range []string{"p/a.go: if a == 0 { // it is gone", "p/a.go: if a <= 0 {"} {
		if _, err := without(faults, bad, "p"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
