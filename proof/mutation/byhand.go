package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// parse reads a list with two keys more than each has: the packages of the tests, without which those of the file's own
// package should notice the fault, and why no test notices it.
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

// handAim is how many percent of the faults of an area must be noticed.
const handAim = 90

// handReport is what became of the faults of an area.
type handReport struct {
	Area    string `json:"area"`
	Faults  int    `json:"faults"`
	Noticed int    `json:"noticed"`
	Percent int    `json:"percent"`
	Seconds int    `json:"seconds"`
	missed  []listed
}

func (r *handReport) print(out io.Writer) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and words
	}
	fmt.Fprintf(out, "%s\n", b)
	for _, f := range r.missed {
		fmt.Fprintf(out, "  %s: %s", f.File, f.Name)
		if f.missed != "" {
			fmt.Fprintf(out, "   (%s)", f.missed)
		}
		fmt.Fprintln(out)
	}
}

func setOf(list []listed) (set mutant.Set) {
	for _, f := range list {
		set = append(set, f.Flaw)
	}
	return set
}

// playByHand tries the faults of an area, one package of tests after the other; what one has noticed, no other is asked
// about.
func playByHand(ctx context.Context, area string, log io.Writer) (*handReport, error) {
	began := time.Now()
	left, err := readArea(area)
	if err != nil {
		return nil, err
	}
	root, err := mutant.Root(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	r := &handReport{Area: area, Faults: len(left)}
	var packages []string
	for _, f := range left {
		packages = append(packages, f.packages...)
	}
	slices.Sort(packages)
	for i, pkg := range slices.Compact(packages) {
		ours := slices.DeleteFunc(slices.Clone(left), func(f listed) bool { return !slices.Contains(f.packages, pkg) })
		if len(ours) == 0 {
			continue
		}
		// the number: a path of a socket has little room
		b := &bench{root: root, dir: filepath.Join(dir, strconv.Itoa(i)), pkg: pkg, set: setOf(ours)}
		seen, err := b.tryByHand(ctx, ours, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pkg, err)
		}
		left = slices.DeleteFunc(left, func(f listed) bool { return seen[f.Name] })
	}
	r.Noticed, r.missed, r.Seconds = r.Faults-len(left), left, int(time.Since(began).Seconds())
	if r.Percent = 100; r.Faults > 0 {
		r.Percent = 100 * r.Noticed / r.Faults
	}
	return r, ctx.Err()
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: \S+|^panic: .*|^fatal error: .*`)

// tell says in one line on the log which test has noticed a fault.
func (f listed) tell(log io.Writer, pkg string, err error, out []byte) {
	if err == nil {
		fmt.Fprintf(log, "%s: missed   %s\n", pkg, f.Name)
		return
	}
	fmt.Fprintf(log, "%s: noticed  %s (%s)\n", pkg, f.Name,
		cmp.Or(string(bytes.TrimSpace(failed.Find(out))), err.Error()))
}

// tryByHand runs all tests of the package with each fault, and returns the names of those that make one fail, or hang.
// Tests that only ask whether a list of flaws fits the source are left out: they would fail on any edit.
func (b *bench) tryByHand(ctx context.Context, list []listed, log io.Writer) (seen map[string]bool, err error) {
	if b.program, err = b.set.BuildTests(ctx, b.root, filepath.Join(b.dir, "planted"), b.pkg); err != nil {
		return nil, err
	}
	b.flags = append(b.noFailFiles(ctx), "-test.skip=Fit$")
	began := time.Now()
	if out, err := b.run(ctx, b.dir, b.program, b.set.Sound(), "-test.timeout=20m"); err != nil {
		return nil, fmt.Errorf("the tests fail with no fault chosen: %w: %s", err, tail(out))
	}
	limit := "-test.timeout=" + (3*leastTime + 5*time.Since(began)).String() // a busy machine is no fault
	seen = make(map[string]bool)
	for _, f := range list {
		environ, err := b.set.Environ(f.Name)
		if err != nil {
			return nil, err
		}
		out, err := b.run(ctx, b.dir, b.program, environ, "-test.failfast", limit)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		seen[f.Name] = err != nil
		f.tell(log, b.pkg, err, out)
	}
	return seen, nil
}
