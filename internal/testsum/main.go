// Command testsum reads `go test -json` from standard input and says what matters: failures in full, a line per package, each skipped test with
// its reason, and at the end "N passed, N failed, N skipped". It exits with 1 if anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type summary struct {
	passed, failed, skipped int
	output                  map[string][]string // of tests and packages that are not over
	broken                  bool
}

func main() {
	s := summary{output: make(map[string][]string)}
	if err := s.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 || s.broken {
		os.Exit(1)
	}
}

func (s *summary) read(r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(w, lines.Text())
			continue
		}
		s.take(e, w)
	}
	return lines.Err()
}

func (s *summary) take(e event, w io.Writer) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		s.output[key] = append(s.output[key], e.Output)
		if e.Action == "build-output" {
			fmt.Fprint(w, e.Output)
		}
	case "build-fail":
		s.broken = true
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.pkg(e, w)
		} else {
			s.test(e, w)
		}
		delete(s.output, key)
	}
}

func (s *summary) test(e event, w io.Writer) {
	out := strings.Join(s.output[e.Package+" "+e.Test], "")
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		fmt.Fprintf(w, "FAIL %s %s\n%s", e.Package, e.Test, out)
	case "skip":
		s.skipped++
		fmt.Fprintf(w, "SKIP %s %s\n%s", e.Package, e.Test, out)
	}
}

func (s *summary) pkg(e event, w io.Writer) {
	if e.Action == "fail" {
		s.broken = true
		fmt.Fprint(w, strings.Join(s.output[e.Package+" "], ""))
	}
	if e.Action != "skip" {
		fmt.Fprintf(w, "%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
	}
}
