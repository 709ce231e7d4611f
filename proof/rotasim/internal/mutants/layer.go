package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// layer is one way to look for a flaw.
type layer struct {
	name string
	args []string
}

// The names of the layers.
const (
	Simulator = "simulator"
	Checker   = "checker"
)

// layers are tried one after the other, the cheapest first. Their sum is less than what every change is put through.
func layers(protocol string) []layer {
	check := func(args ...string) layer {
		return layer{Checker, append([]string{"check", "--protocol", protocol, "--states", "100000"}, args...)}
	}
	sim := func(args ...string) layer {
		return layer{Simulator, append([]string{"--protocol", protocol, "--stop", "--workers", "1"}, args...)}
	}
	if protocol == "leader" { // its members begin joined, and each hour of the simulator takes longer
		return []layer{
			check("--members", "3", "--crashes", "1"),
			sim("--first", "0", "--seeds", "3", "--hours", "0.1", "--again", "0"),
			check("--members", "2", "--leaves", "1"),
			sim("--first", "3", "--seeds", "37", "--hours", "0.2"),
		}
	}
	all := []layer{
		sim("--first", "0", "--seeds", "5", "--hours", "0.2", "--again", "0"),
		check("--members", "2", "--partitions", "2", "--crashes", "1", "--restarts", "1", "--leaves", "1"),
		check("--members", "3", "--partitions", "3", "--crashes", "1", "--handover", "no-gap"),
		check("--members", "3", "--crashes", "1", "--restarts", "1"),
		check("--members", "2", "--suspicions", "1", "--failures", "1"),
		sim("--first", "5", "--seeds", "45", "--hours", "0.2"),
		check("--members", "3", "--crashes", "1", "--duplicates", "1"),
		check("--members", "2", "--crashes", "1", "--suspicions", "1", "--duplicates", "1"),
		sim("--first", "50", "--seeds", "200", "--hours", "1"),
	}
	if protocol == "sync" { // its walks have few states; what they miss needs storms, or another history, which one seed of fifty has
		return []layer{
			check("--members", "2", "--crashes", "1"),
			check("--members", "1", "--crashes", "1", "--restarts", "1", "--forgets", "1"),
			check("--members", "2", "--partitions", "2", "--leaves", "1"),
			check("--members", "2", "--suspicions", "1"),
			sim("--first", "0", "--seeds", "5", "--hours", "0.2", "--again", "0"),
			check("--members", "2", "--partitions", "2", "--crashes", "1", "--restarts", "1"),
			sim("--first", "148", "--seeds", "1", "--hours", "0.2", "--again", "0"),
			check("--members", "3", "--partitions", "2", "--leaves", "1", "--states", "15000"),
			sim("--first", "5", "--seeds", "35", "--hours", "0.2", "--again", "0"),
		}
	}
	if protocol == "lease" { // each hour of the simulator takes longer
		return []layer{
			check("--members", "3", "--crashes", "1", "--duplicates", "1"),
			check("--members", "2", "--crashes", "1", "--restarts", "1"),
			check("--members", "2", "--suspicions", "1", "--failures", "1"),
			sim("--first", "0", "--seeds", "3", "--hours", "0.1", "--again", "0"),
			sim("--first", "3", "--seeds", "37", "--hours", "0.1", "--again", "0"),
		}
	}
	return all
}

// parse is the layer that known names.
func parse(args string) layer {
	l := layer{Simulator, strings.Fields(args)}
	if l.args[0] == "check" {
		l.name = Checker
	}
	return l
}

// at is the layer with the one seed that its proof names; a walk of the checker stays as it is.
func (l layer) at(proof string) layer {
	m := regexp.MustCompile(`in seed (\d+) at event`).FindStringSubmatch(proof)
	if l.name != Simulator || m == nil {
		return l
	}
	out := layer{l.name, slices.Clone(l.args)}
	for i := 1; i < len(out.args); i++ {
		switch out.args[i-1] {
		case "--first":
			out.args[i] = m[1]
		case "--seeds":
			out.args[i] = "1"
		}
	}
	return out
}

// timeLimit of one layer: a program that does not end is noticed too.
const timeLimit = 20 * time.Minute

// try runs the program in an environment and returns what it noticed, "" for nothing.
func (l layer) try(ctx context.Context, program string, environ []string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	var text bytes.Buffer
	cmd := exec.CommandContext(limited, program, l.args...) //nolint:gosec // it was built here
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, &text, &text
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "it does not end", nil
	case !errors.As(err, &exit):
		return "", err
	}
	return proof(text.String())
}

// proof is the line that says what was noticed.
func proof(text string) (string, error) {
	for line := range strings.Lines(text) {
		for _, sign := range []string{"VIOLATION ", "broken: ", "panic: "} {
			if rest, ok := strings.CutPrefix(line, sign); ok {
				return strings.TrimSpace(rest), nil
			}
		}
	}
	return "", fmt.Errorf("it failed and printed: %s", text)
}
