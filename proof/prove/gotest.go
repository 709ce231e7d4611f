package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of go test -json; see go doc cmd/test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// test names a test, or a package where Test is empty.
type test struct{ Package, Test string }

func (t test) String() string { return strings.TrimSpace(t.Package + " " + t.Test) }

// top is the test that a subtest belongs to.
func (t test) top() test {
	name, _, _ := strings.Cut(t.Test, "/")
	return test{t.Package, name}
}

// results are those of one go test command.
type results struct {
	w        io.Writer
	passed   int
	skipped  []string // with reasons
	failed   []test   // top-level tests, or packages that failed outside of their tests
	built    bool     // every package compiled
	done     amounts
	open     map[test]*strings.Builder // output of what has not ended
	suites   map[test]bool
	failedIn map[string]bool
}

func newResults(w io.Writer) *results {
	return &results{w: w, built: true, done: amounts{}, open: map[test]*strings.Builder{}, suites: map[test]bool{},
		failedIn: map[string]bool{}}
}

// read takes JSON lines until they end. Any other line is printed.
func (r *results) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			r.take(e)
		} else {
			fmt.Fprint(r.w, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) take(e event) {
	key := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "build-fail":
		r.built = false
	case "output":
		if r.open[key] == nil {
			r.open[key] = new(strings.Builder)
		}
		r.open[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(key, e.Action)
		}
		delete(r.open, key)
	}
}

func (r *results) output(key test) string {
	if b := r.open[key]; b != nil {
		return b.String()
	}
	return ""
}

func (r *results) endTest(key test, action string) {
	switch action {
	case "pass":
		r.passed++
		r.done["passed"]++
		r.done["passed "+r.short(key.Package)]++
		r.noteSuite(key)
	case "fail":
		fmt.Fprintf(r.w, "FAIL  %s\n%s", key, r.output(key))
		r.failedIn[key.Package] = true
		if !slices.Contains(r.failed, key.top()) {
			r.failed = append(r.failed, key.top())
		}
	case "skip":
		r.skipped = append(r.skipped, key.String()+": "+reason(r.output(key)))
	}
}

// endPackage prints the line of a package. One that failed without a failed test broke off: a data race, a panic, a
// time-out, a leak.
func (r *results) endPackage(e event) {
	key := test{e.Package, ""}
	if e.Action == "skip" {
		return
	}
	if e.Action == "fail" && !r.failedIn[e.Package] {
		fmt.Fprint(r.w, r.output(key))
		for t, b := range r.open {
			if t.Package == e.Package && t.Test != "" {
				fmt.Fprintf(r.w, "did not end: %s\n%s", t, b)
			}
		}
		r.failed = append(r.failed, key)
	}
	fmt.Fprintf(r.w, "%-5s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
}

// suites are the conformance suites of stores: the names of their tests.
var suites = []string{"TestDocs", "TestGetMany", "TestLog", "TestSeed", "TestWatch", "TestLogWatch", "TestSessions",
	"TestFaults", "TestStorm", "TestLocks", "TestStories", "TestGroup", "TestQueue"}

// noteSuite counts a suite that passed, once for each package.
func (r *results) noteSuite(key test) {
	if !slices.Contains(suites, key.Test) || r.suites[key] {
		return
	}
	r.suites[key] = true
	r.done["suites "+r.short(key.Package)]++
}

const module = "github.com/rota-run/rota/"

// short is the path of a package from its module.
func (*results) short(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, module), "proof/")
}

// reason is the text of a skip without what go test says around it.
func reason(output string) string {
	var out []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "--- SKIP") {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return "no reason given"
	}
	return strings.Join(out, " ")
}

// lastLine is the last line of an output that is not empty.
func lastLine(output string) string {
	output = strings.TrimSpace(output)
	return output[strings.LastIndexByte(output, '\n')+1:]
}

// figures reads the amounts of a JSON object. What is no JSON object has none.
func figures(line string) amounts {
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) != nil {
		return nil
	}
	out := make(amounts)
	for name, v := range object {
		switch v := v.(type) {
		case float64:
			out[name] = v
		case bool:
			if v {
				out[name] = 1
			}
		case []any:
			out[name] = float64(len(v))
		case map[string]any:
			out[name] = float64(len(v))
		}
	}
	return out
}
