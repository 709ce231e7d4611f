package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in string
		want     []string
		code     int
	}{
		{
			"passes", `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"pass","Package":"p","Elapsed":1.5}
`, []string{"ok    p 1.5s", "1 passed, 0 failed, 0 skipped"}, 0,
		},
		{
			"a race is shown, whichever test is blamed", `{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"WARNING: DATA RACE\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}
`, []string{"a data race while p A ran:\nWARNING: DATA RACE\n", "1 passed, 1 failed, 0 skipped"}, 1,
		},
		{
			"a failure is shown in full", `{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"a_test.go:1: got 2\n"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}
`, []string{"FAIL  p A\na_test.go:1: got 2\n", "FAIL  p 0.0s", "0 passed, 1 failed, 0 skipped"}, 1,
		},
		{
			"a skip says why, twice", `{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\n"}
{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:1: no server\n"}
{"Action":"output","Package":"p","Test":"A","Output":"--- SKIP: A (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"A"}
{"Action":"pass","Package":"p"}
`, []string{"SKIP  p A: a_test.go:1: no server\n", "skipped:\nSKIP  p A: a_test.go:1: no server\n", "0 passed, 0 failed, 1 skipped"}, 0,
		},
		{
			"does not compile", `{"Action":"build-output","ImportPath":"p","Output":"p.go:1: undefined: x\n"}
{"Action":"build-fail","ImportPath":"p"}
`, []string{"p.go:1: undefined: x", "FAIL  p does not compile", "0 passed, 1 failed, 0 skipped"}, 1,
		},
		{
			"panics", `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"panic: oh\n"}
{"Action":"fail","Package":"p"}
`, []string{"did not end: A\npanic: oh\n", "0 passed, 1 failed, 0 skipped"}, 1,
		},
		{
			"breaks off", `{"Action":"start","Package":"p"}
`, []string{"package p began and did not end", "0 passed, 1 failed, 0 skipped"}, 1,
		},
		{"is no JSON", "go: cannot find main module\n", []string{"go: cannot find main module", "0 passed, 0 failed, 0 skipped"}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			s := newSummary(&out)
			if err := s.read(strings.NewReader(c.in)); err != nil {
				t.Fatal(err)
			}
			if code := s.close(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, w := range c.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("no %q in\n%s", w, out.String())
				}
			}
		})
	}
}

func TestStep(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newSummary(&out)
	s.step("vet", "all well\n", nil, 0)
	s.step("sim", "seed 1\n{\"seeds\":1}\n", nil, 0)
	s.step("lint", "x\nSKIP: no network\n", nil, 0)
	s.step("fmt", "a.go\n", errors.New("exit status 2"), 0)
	if code := s.close(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, w := range []string{"ok    step vet", "0.0s  {\"seeds\":1}\n", "SKIP  step lint: no network\n", "a.go\nFAIL  step fmt: exit status 2\n"} {
		if !strings.Contains(out.String(), w) {
			t.Errorf("no %q in\n%s", w, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\n2 passed, 1 failed, 1 skipped\n") {
		t.Errorf("the last line is not the count:\n%s", out.String())
	}
}

// TestRunsCommands starts real programs: one that fails without a failed test, one that does not exist, and a step.
func TestRunsCommands(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newSummary(&out)
	runTests(s, []string{"go", "test", "-json", "./no-such-folder"})
	runTests(s, []string{"./no-such-program"})
	runStep(s, "./no-such-make", "vet")
	if s.failed < 3 || s.close() != 1 {
		t.Errorf("%d failures, want at least 3:\n%s", s.failed, out.String())
	}
}

// TestProofKeepsToItsTime gives each step its share, and says so when nothing is left.
//
// It runs alone: a process that another test starts while the program is written has it open for writing until it has begun, and then it can't be run.
func TestProofKeepsToItsTime(t *testing.T) {
	program := filepath.Join(t.TempDir(), "make")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"{\\\"budget\\\":\\\"$BUDGET\\\"}\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := newSummary(&out)
	runProof(s, program, []string{"check", "sim"}, time.Now().Add(time.Hour))
	runProof(s, program, []string{"laws", "mutants*2", "lint*x"}, time.Now().Add(2*time.Hour))
	runProof(s, program, []string{"mutants"}, time.Now())
	budgets := regexp.MustCompile(`{"budget":"(\d+)s"}`).FindAllStringSubmatch(out.String(), -1)
	for i, want := range []int{1800, 3600, 1800, 4800, 7200} {
		var got int
		if i < len(budgets) {
			got, _ = strconv.Atoi(budgets[i][1])
		}
		if got >= want || got < want-120 { // the steps before it have taken some time
			t.Errorf("budget %d is %d s, want somewhat less than %d:\n%s", i, got, want, out.String())
		}
	}
	for _, w := range []string{"step lint*x", "SKIP  step mutants: no time is left"} {
		if !strings.Contains(out.String(), w) {
			t.Errorf("no %q in\n%s", w, out.String())
		}
	}
}
