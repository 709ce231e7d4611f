package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one JSON line of go test; see go doc cmd/test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// summary counts what passed, failed and was skipped, and writes what a person needs to see.
type summary struct {
	w                       io.Writer
	passed, failed, skipped int
	skips                   []string
	open                    map[string]*strings.Builder // output of tests and packages that have not ended
	failedTests             map[string]int              // of packages that have not ended
	stores                  matrix
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, open: make(map[string]*strings.Builder), failedTests: make(map[string]int), stores: make(matrix)}
}

func (s *summary) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

// broke notes a fault of what runs the tests.
func (s *summary) broke(what string) {
	s.failed++
	s.printf("FAIL  %s\n", what)
}

// step notes how one step ended.
func (s *summary) step(name, output string, err error, took time.Duration) {
	if err != nil {
		s.failed++
		s.printf("%sFAIL  step %s: %v\n", output, name, err)
		return
	}
	for line := range strings.Lines(output) {
		if reason, ok := strings.CutPrefix(line, "SKIP:"); ok {
			s.skip("step "+name, reason)
			return
		}
	}
	s.passed++
	s.printf("ok    step %-14s %5.1fs%s\n", name, took.Seconds(), figures(output))
}

// figures is the last line of an output, when it is a JSON object.
func figures(output string) string {
	output = strings.TrimSpace(output)
	last := output[strings.LastIndexByte(output, '\n')+1:]
	if !json.Valid([]byte(last)) || !strings.HasPrefix(last, "{") {
		return ""
	}
	return "  " + last
}

func (s *summary) skip(what, reason string) {
	s.skipped++
	s.skips = append(s.skips, fmt.Sprintf("SKIP  %s: %s\n", what, strings.Join(strings.Fields(reason), " ")))
	s.printf("%s", s.skips[len(s.skips)-1])
}

// read takes JSON lines until they end. A line that is none is shown.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil {
				s.take(e)
			} else {
				s.printf("%s", line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		s.printf("%s", e.Output)
	case "build-fail":
		s.failed++
		s.printf("FAIL  %s does not compile\n", e.ImportPath)
	case "start", "run":
		s.open[key] = new(strings.Builder)
	case "output":
		if s.open[key] == nil {
			s.open[key] = new(strings.Builder)
		}
		s.open[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e, s.output(key))
		} else {
			s.endTest(e, s.output(key))
		}
		delete(s.open, key)
	}
}

func (s *summary) output(key string) string {
	if b := s.open[key]; b != nil {
		return b.String()
	}
	return ""
}

func (s *summary) endTest(e event, output string) {
	s.stores.note(e)
	switch e.Action {
	case "pass":
		s.passed++
		if strings.Contains(output, "WARNING: DATA RACE") { // it may count for another test, or for the whole package
			s.printf("a data race while %s %s ran:\n%s", e.Package, e.Test, output)
		}
	case "fail":
		s.failed++
		s.failedTests[e.Package]++
		s.printf("FAIL  %s %s\n%s", e.Package, e.Test, output)
	case "skip":
		s.skip(e.Package+" "+e.Test, reasonOf(output))
	}
}

// reasonOf leaves out what go test says around the reason of a skip.
func reasonOf(output string) string {
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

func (s *summary) endPackage(e event, output string) {
	name := e.Package
	switch e.Action {
	case "skip":
		s.printf("none  %s has no tests\n", name)
		return
	case "fail":
		if s.failedTests[name] == 0 { // it broke outside of a test: a data race at the end, a panic, a time-out, os.Exit
			s.failed++
			s.printf("%s", s.unfinished(name))
		}
		s.printf("%s", output)
	}
	s.printf("%-5s %s %.1fs\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], name, e.Elapsed)
}

// unfinished is the output of the tests of a package that began and did not end.
func (s *summary) unfinished(pkg string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.open)) {
		if test, ok := strings.CutPrefix(key, pkg+" "); ok && test != "" {
			b.WriteString("did not end: " + test + "\n" + s.open[key].String())
			delete(s.open, key)
		}
	}
	return b.String()
}

// close writes the last lines and returns the exit code.
func (s *summary) close() int {
	for key := range s.open {
		if pkg, test, _ := strings.Cut(key, " "); test == "" && pkg != "" {
			s.broke("package " + pkg + " began and did not end")
		}
	}
	if len(s.skips) > 0 {
		s.printf("\nskipped:\n%s\n", strings.Join(s.skips, ""))
	}
	if table := s.stores.String(); table != "" {
		s.printf("\nthe contracts of the stores, by the suites that each was put through:\n%s\n", table)
	}
	s.printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 {
		return 1
	}
	return 0
}
