// Command testsum runs steps and tests and says what matters.
//
// # Purpose
//
//	testsum [-make make] [-steps "fmt-check vet"] [-proof "check sim" -within 22m] [go test -json ./...]
//
// Each step is a target of the Makefile. Its output is shown when it fails; a line of it that begins with "SKIP:" says that it was skipped, and
// why; a last line that is a JSON object is shown. The steps of -proof run after the tests, each with its share of what is left of -within in the environment variable BUDGET, two
// shares for "name*2": on a slow machine they look at less, and say how much. Then the command runs, which must print the JSON lines of go test. Failures are shown in full, each package has a line, each skipped test its reason.
// The last line is "N passed, N failed, N skipped", of steps and tests together. The exit code is 1 if anything failed, also if a package did
// not compile or the command broke off.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func main() {
	s := newSummary(os.Stdout)
	makeProgram := flag.String("make", "make", "program that runs the steps")
	steps := flag.String("steps", "", "targets of the Makefile, separated by spaces")
	proof := flag.String("proof", "", "targets that run after the tests and keep to a BUDGET, separated by spaces")
	within := flag.Duration("within", 20*time.Minute, "how long everything may take that keeps to a budget")
	flag.Parse()
	began := time.Now()
	for _, name := range strings.Fields(*steps) {
		runStep(s, *makeProgram, name)
	}
	if args := flag.Args(); len(args) > 0 {
		runTests(s, args)
	}
	runProof(s, *makeProgram, strings.Fields(*proof), began.Add(*within))
	os.Exit(s.close())
}

// runProof shares out what is left of the time: alike, or by the weights behind the names of steps, "mutants*2".
func runProof(s *summary, makeProgram string, steps []string, end time.Time) {
	names, weights, rest := weighed(steps)
	for i, name := range names {
		share := time.Duration(time.Until(end).Nanoseconds() * weights[i] / rest)
		rest -= weights[i]
		if share < leastShare {
			s.skip("step "+name, "no time is left for it: run make "+name)
			continue
		}
		runStep(s, makeProgram, name, fmt.Sprintf("BUDGET=%ds", int(share.Seconds())))
	}
}

// weighed takes the weights off the names, and adds them up.
func weighed(steps []string) (names []string, weights []int64, sum int64) {
	for _, step := range steps {
		name, text, given := strings.Cut(step, "*")
		weight, err := strconv.ParseInt(text, 10, 8)
		switch {
		case !given:
			weight = 1
		case err != nil || weight < 1:
			name, weight = step, 1 // which is no target, and so the step says what is wrong
		}
		names, weights, sum = append(names, name), append(weights, weight), sum+weight
	}
	return names, weights, sum
}

// leastShare is less than it takes to show anything.
const leastShare = 10 * time.Second

// runStep runs one target, with some variables more in its environment.
func runStep(s *summary, makeProgram, name string, variables ...string) {
	start := time.Now()
	cmd := exec.Command(makeProgram, "--no-print-directory", name)
	cmd.Env = append(os.Environ(), variables...)
	out, err := cmd.CombinedOutput()
	s.step(name, string(out), err, time.Since(start))
}

// runTests runs a command that prints JSON lines of go test.
func runTests(s *summary, args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.broke(fmt.Sprintf("start %s: %v", args[0], err))
		return
	}
	if err := s.read(out); err != nil {
		s.broke(fmt.Sprintf("read the results of the tests: %v", err))
		_, _ = io.Copy(io.Discard, out) // lets the command end
	}
	if err := cmd.Wait(); err != nil && s.failed == 0 {
		s.broke(fmt.Sprintf("%s: %v, though no test failed", strings.Join(args, " "), err))
	}
}
