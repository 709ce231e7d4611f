// Command testsum runs steps and tests and says what matters.
//
// # Purpose
//
//	testsum [-make make] [-steps "fmt-check vet"] [go test -json ./...]
//
// Each step is a target of the Makefile. Its output is shown when it fails; a line of it that begins with "SKIP:" says that it was skipped, and
// why. Then the command runs, which must print the JSON lines of go test. Failures are shown in full, each package has a line, each skipped test its reason.
// The last line is "N passed, N failed, N skipped", of steps and tests together. The exit code is 1 if anything failed, also if a package did
// not compile or the command broke off.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	s := newSummary(os.Stdout)
	makeProgram := flag.String("make", "make", "program that runs the steps")
	steps := flag.String("steps", "", "targets of the Makefile, separated by spaces")
	flag.Parse()
	for _, name := range strings.Fields(*steps) {
		runStep(s, *makeProgram, name)
	}
	if args := flag.Args(); len(args) > 0 {
		runTests(s, args)
	}
	os.Exit(s.close())
}

// runStep runs one target.
func runStep(s *summary, makeProgram, name string) {
	start := time.Now()
	out, err := exec.Command(makeProgram, "--no-print-directory", name).CombinedOutput()
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
