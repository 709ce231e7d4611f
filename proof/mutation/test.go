package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// test is a test of the package, with what it takes and the statements that it runs.
type test struct {
	name   string
	took   time.Duration
	blocks []block
}

// block is a part of a file that runs as one, from the coverage of the compiler.
type block struct {
	file                                 string // its base name
	startLine, startColumn, line, column int
}

func (b block) holds(f fault) bool {
	after := f.line > b.startLine || f.line == b.startLine && f.column >= b.startColumn
	before := f.line < b.line || f.line == b.line && f.column <= b.column
	return after && before && b.file == filepath.Base(f.file)
}

// inFunctionOf reports whether the block is in the function of a fault.
func (b block) inFunctionOf(f fault) bool {
	return b.file == filepath.Base(f.file) && f.first <= b.startLine && b.line <= f.last
}

// The time that tests have with a fault, beside what they take without.
const (
	leastTime  = 10 * time.Second
	timeFactor = 10
	quick      = 300 * time.Millisecond // the fastest tests that take no more than this together are tried first
)

var (
	outcome = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)`)
	covered = regexp.MustCompile(`^(\S+\.go):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)
)

// learn finds the tests, what they take, and what each of them reaches. A test that fails without a fault is an error.
func (b *bench) learn(ctx context.Context) error {
	b.flags = b.noFailFiles(ctx)
	out, err := b.run(ctx, b.dir, b.program, b.set.Sound(), "-test.v", "-test.parallel=1", "-test.timeout=20m")
	if err != nil {
		return fmt.Errorf("the tests fail with no fault chosen: %w: %s", err, tail(out))
	}
	for _, m := range outcome.FindAllSubmatch(out, -1) {
		if string(m[1]) == "PASS" {
			seconds, _ := strconv.ParseFloat(string(m[3]), 64) // digits
			b.tests = append(b.tests, test{name: string(m[2]), took: time.Duration(seconds * float64(time.Second))})
		}
	}
	counting := filepath.Join(b.dir, "counting")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-cover", "-coverpkg="+b.of, "-ldflags=-s -w", "-o", counting, b.pkg) //nolint:gosec // the compiler
	cmd.Dir = b.root
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, said)
	}
	for i := range b.tests {
		if err := b.count(ctx, counting, &b.tests[i]); err != nil {
			return err
		}
	}
	slices.SortStableFunc(b.tests, func(x, y test) int { return int(x.took - y.took) })
	return nil
}

// noFailFiles is the flag that keeps rapid from writing files, where the tests have it: what a fault makes fail is not
// to be tried again in the source as it is.
func (b *bench) noFailFiles(ctx context.Context) []string {
	const flag = "-rapid.nofailfile"
	if _, err := b.run(ctx, b.dir, b.program, b.set.Sound(), flag, "-test.list=^$"); err != nil {
		return nil
	}
	return []string{flag}
}

// count notes what a test reaches.
func (b *bench) count(ctx context.Context, program string, t *test) error {
	profile := filepath.Join(b.dir, "profile")
	out, err := b.run(ctx, b.dir, program, os.Environ(), "-test.run="+exactly(*t), "-test.coverprofile="+profile,
		"-test.timeout=20m")
	if err != nil {
		return fmt.Errorf("%s fails by itself: %w: %s", t.name, err, tail(out))
	}
	text, err := os.ReadFile(profile) //nolint:gosec // written by the test
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		m := covered.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		var at [4]int
		for i := range at {
			at[i], _ = strconv.Atoi(m[2+i]) // digits
		}
		found := block{filepath.Base(m[1]), at[0], at[1], at[2], at[3]}
		b.blocks[found] = true
		if m[6] != "0" {
			t.blocks = append(t.blocks, found)
		}
	}
	return nil
}

// reaching returns the tests that run the block of a fault, the fastest first. What the compiler counts nowhere, such
// as the condition of a case, counts as reached by whatever runs some of its function.
func (b *bench) reaching(f fault) []test {
	holds := func(b block) bool { return b.inFunctionOf(f) }
	for k := range b.blocks { // order-free: one is enough
		if k.holds(f) {
			holds = func(b block) bool { return b.holds(f) }
			break
		}
	}
	var out []test
	for _, t := range b.tests {
		if slices.ContainsFunc(t.blocks, holds) {
			out = append(out, t)
		}
	}
	return out
}

// try reports whether one of the tests that reach the fault fails with it.
func (b *bench) try(ctx context.Context, worker string, f fault) fate {
	tests := b.reaching(f)
	if len(tests) == 0 {
		return unreached
	}
	environ, err := b.set.Environ(f.flaw.Name)
	if err != nil {
		panic(err) // it was planted
	}
	for len(tests) > 0 {
		n, sum := 0, time.Duration(0)
		for n == 0 || n < len(tests) && (sum+tests[n].took <= quick || tests[0].took > quick) {
			sum += tests[n].took
			n++
		}
		limit := leastTime + timeFactor*sum
		if _, err := b.run(ctx, filepath.Join(b.dir, worker), b.program, environ, "-test.failfast",
			"-test.run="+exactly(tests[:n]...), "-test.timeout="+limit.String()); err != nil {
			return noticed
		}
		tests = tests[n:]
	}
	return missed
}

// run runs a program of tests in the directory of its package, with a directory of its own for what it leaves, and ends
// what it started.
func (b *bench) run(ctx context.Context, home, program string, environ []string, args ...string) ([]byte, error) {
	temporary := filepath.Join(home, "tmp")
	if err := os.MkdirAll(temporary, 0o750); err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a temporary directory
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append(args, b.flags...)...) //nolint:gosec // built here
	cmd.Dir, cmd.Env = filepath.Join(b.root, b.pkg), append(environ, "TMPDIR="+temporary)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be none left
	}
	return out.Bytes(), err
}

// exactly is the pattern of these tests alone.
func exactly(tests ...test) string {
	var names []string
	for _, t := range tests {
		names = append(names, regexp.QuoteMeta(t.name))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
