package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
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
	apart    bool     // it plays only where it is named
	memory   int      // the GB that it takes at most on two cores; 0: no more than one
	least    amounts
}

// amounts are figures of a stage by name. For tests: "passed", "passed PACKAGE", "suites PACKAGE"; else the numbers of
// the JSON object, the lengths of its lists, and 1 for what is true.
type amounts map[string]float64

func (s stage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: (cd %s && %s)", s.name, s.dir, strings.Join(s.command, " "))
	if s.apart {
		b.WriteString("\n    apart: it plays only where it is named")
	}
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

// mostFlaky is how many tests may pass only at their second try.
const mostFlaky = 2

// mostReruns is how many failed tests are tried again: more are no matter of chance.
const mostReruns = 5

// summary counts what passed, failed and was skipped.
type summary struct {
	w              io.Writer
	root           string
	memory         int           // GB of the machine
	background     bool          // its commands play at the lowest priority
	worked         time.Duration // what the commands of a stage took of the processors, their children included
	passed, failed int
	skips, flaky   []string
	apart          []string // stages that were not to play
	ended          []string // stages that passed: when they began, and how long they took
	failures       []string // of stages, with why
	began          time.Time
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, root: "..", memory: memory(), began: time.Now()}
}

func (s *summary) printf(format string, args ...any) { fmt.Fprintf(s.w, format, args...) }

// play runs one stage.
func (s *summary) play(ctx context.Context, st stage) {
	s.printf("----  %s: %s\n", st.name, strings.Join(st.command, " "))
	began := time.Now()
	s.worked = 0
	var done amounts
	var faults []string
	if st.tests {
		done, faults = s.playTests(ctx, st)
	} else {
		done, faults = s.playProgram(ctx, st)
	}
	faults = append(faults, st.missing(done)...)
	if len(faults) > 0 {
		s.failed++
		failure := fmt.Sprintf("FAIL  stage %s %s: %s\n", st.name, s.took(began), strings.Join(faults, "; "))
		s.failures = append(s.failures, failure)
		s.printf("%s", failure)
		return
	}
	s.passed++
	end := fmt.Sprintf("ok    stage %s %s\n", st.name, s.took(began))
	s.ended = append(s.ended, end)
	s.printf("%s", end)
}

// took says when a stage began, how long it took, and how much of the processors.
func (s *summary) took(began time.Time) string {
	return fmt.Sprintf("from %.0fs: %.1fs, %.0fs of processors", began.Sub(s.began).Seconds(),
		time.Since(began).Seconds(), s.worked.Seconds())
}

// playProgram runs a command that ends with a JSON object. Its output is shown when it fails.
func (s *summary) playProgram(ctx context.Context, st stage) (done amounts, faults []string) {
	cmd := s.command(ctx, st.dir, st.command)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := s.start(cmd)
	if err == nil {
		err = s.wait(cmd)
	}
	if err != nil {
		s.printf("%s", out.String())
		return nil, []string{err.Error()}
	}
	last := lastLine(out.String())
	if done = figures(last); done != nil {
		s.printf("%s\n", last)
	}
	if done == nil && len(st.least) > 0 {
		faults = []string{fmt.Sprintf("its last line is no JSON object: %.200s", last)}
	}
	return done, faults
}

// playTests runs go test, and tests that failed once more where that is allowed.
func (s *summary) playTests(ctx context.Context, st stage) (done amounts, faults []string) {
	r, err := s.tests(ctx, st.dir, st.command)
	s.passed += r.passed
	for _, skip := range r.skipped {
		s.skips = append(s.skips, skip)
		s.printf("SKIP  %s\n", skip)
	}
	switch {
	case err == nil && len(r.failed) == 0:
		return r.done, nil
	case !r.built:
		return r.done, []string{"a package does not compile"}
	case len(r.failed) == 0:
		return r.done, []string{fmt.Sprintf("%v, though no test failed", err)}
	}
	for _, t := range r.failed {
		if st.rerun && len(r.failed) <= mostReruns && s.again(ctx, st, t, r.done) {
			s.flaky = append(s.flaky, t.String())
			continue
		}
		s.failed++
		faults = append(faults, t.String())
	}
	return r.done, faults
}

// again runs one test, or one package, by itself, and reports whether it passed.
func (s *summary) again(ctx context.Context, st stage, t test, done amounts) bool {
	s.printf("AGAIN %s\n", t)
	args := []string{"go", "test", "-json", "-count=1", "-timeout", "10m"}
	if slices.Contains(st.command, "-race") {
		args = append(args, "-race")
	}
	if t.Test != "" {
		args = append(args, "-run", "^"+regexp.QuoteMeta(t.Test)+"$")
	}
	r, err := s.tests(ctx, st.dir, append(args, t.Package))
	for what, n := range r.done {
		if t.Test == "" {
			done[what] = max(done[what], n)
		} else {
			done[what] += n
		}
	}
	s.passed += r.passed
	return err == nil && len(r.failed) == 0 && r.passed > 0
}

// tests runs one go test command.
func (s *summary) tests(ctx context.Context, dir string, args []string) (*results, error) {
	r := newResults(s.w)
	cmd := s.command(ctx, dir, args)
	cmd.Stderr = s.w
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = s.start(cmd)
	}
	if err != nil {
		return r, err
	}
	if err := r.read(out); err != nil {
		_, _ = io.Copy(io.Discard, out) // lets the command end
		return r, err
	}
	return r, s.wait(cmd)
}

func (s *summary) command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the table's commands
	cmd.Dir = filepath.Join(s.root, dir)
	cmd.Env = os.Environ()
	if slices.Contains(args, "-race") {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1") // the race detector is in C, and .ci/run does without
	}
	if s.background {
		retreat(cmd)
	}
	return cmd
}

// start starts a command of [summary.command].
func (s *summary) start(cmd *exec.Cmd) error {
	err := cmd.Start()
	if err == nil && s.background {
		err = yield(cmd)
	}
	return err
}

// wait waits for a command of [summary.start].
func (s *summary) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if p := cmd.ProcessState; p != nil {
		s.worked += p.UserTime() + p.SystemTime()
	}
	return err
}

// close prints what a person needs to see at the end and returns the exit code: the ends of all stages once more, since
// what a machine keeps of a long output is its end.
func (s *summary) close() int {
	for _, end := range s.ended {
		s.printf("%s", end)
	}
	for _, skip := range s.skips {
		s.printf("SKIP  %s\n", skip)
	}
	for _, t := range s.flaky {
		s.printf("FLAKY %s\n", t)
	}
	if len(s.flaky) > mostFlaky {
		s.failed++
		s.printf("FAIL  %d tests passed only at their second try: at most %d may\n", len(s.flaky), mostFlaky)
	}
	for _, failure := range s.failures {
		s.printf("%s", failure)
	}
	if len(s.apart) > 0 {
		s.printf("APART %s: not played; make proof STAGES=%s\n", strings.Join(s.apart, ", "),
			strings.Join(s.apart, ","))
	}
	s.printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, len(s.skips))
	if s.failed > 0 || s.passed == 0 {
		return 1
	}
	return 0
}
