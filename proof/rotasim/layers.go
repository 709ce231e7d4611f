package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/proof/mutant"
)

//go:embed internal/mutants/*.txt
var lists embed.FS

func text(file string) string {
	b, err := lists.ReadFile("internal/mutants/" + file)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// listed are the flaws of a protocol with what their lists say of them. Replica's has those of the value, the
// supervisor and the guardian too.
func listed(protocol string) (flaws []mutant.Listed) {
	files := []string{protocol}
	if protocol == "replica" {
		files = []string{"cluster", "replica", "work", "guardian"}
	}
	for _, name := range files {
		of, err := mutant.ParseList(text(name+".txt"), "story")
		if err != nil {
			panic(fmt.Errorf("%s.txt: %w", name, err)) // a test reads all of them
		}
		flaws = append(flaws, of...)
	}
	return flaws
}

// tableOf are the flaws of a protocol.
func tableOf(protocol string) mutant.Set { return mutant.Flaws(listed(protocol)) }

// allFlaws are those of all protocols.
func allFlaws() (flaws []mutant.Listed) {
	for _, p := range []string{"replica", "leader", "lease", "sync"} {
		flaws = append(flaws, listed(p)...)
	}
	return flaws
}

// stories are the tests of packages by which flaws are looked for. A story notices its flaw in any run, where seeds and
// walks of the checker meet it by luck, or only with much time: the right read must be old, or the right answer late. A
// flaw that its story does not notice has survived.
func stories() map[string]layer {
	out := make(map[string]layer)
	for _, f := range allFlaws() {
		if pkg, test, ok := strings.Cut(f.Notes["story"], " "); ok {
			out[f.Name] = layer{name: story, args: []string{"-test.run", "^" + test + "$", "-test.timeout", "60s"},
				pkg: pkg}
		}
	}
	return out
}

// known tells with which arguments each flaw was found the last time: known.txt has a line for each, its name and the
// arguments.
func known() map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(text("known.txt")) {
		if name, args, ok := strings.Cut(strings.TrimSpace(line), " | "); ok && line[0] != '#' {
			out[name] = args
		}
	}
	return out
}

// learn writes to a file, which is to be known.txt, where each flaw was found. The next run tries that first. Flaws
// that were not looked for, or that survived, keep what was known of them.
func learn(file string, at map[string]string) error {
	maps.DeleteFunc(at, func(name, _ string) bool {
		return !slices.ContainsFunc(allFlaws(), func(f mutant.Listed) bool { return f.Name == name })
	})
	var b strings.Builder
	for line := range strings.Lines(text("known.txt")) {
		if line[0] == '#' {
			b.WriteString(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		fmt.Fprintf(&b, "%s | %s\n", name, at[name])
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// layer is one way to look for a flaw.
type layer struct {
	name string
	args []string
	pkg  string // of a story: whose tests are run
}

// The names of the layers.
const (
	simulator = "simulator"
	checker   = "checker"
	story     = "story"
)

// String is what to type.
func (l layer) String() string {
	if l.pkg != "" {
		return "go test ./" + l.pkg + " " + strings.Join(l.args, " ")
	}
	return "rotasim " + strings.Join(l.args, " ")
}

// layers are tried one after the other: layers.txt has them.
func layers(protocol string) (all []layer) {
	for line := range strings.Lines(text("layers.txt")) {
		of, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of != protocol {
			continue
		}
		if rest, walks := strings.CutPrefix(args, "check "); walks {
			args = "check --protocol " + protocol + " --states 100000 " + rest
		} else {
			args = "--protocol " + protocol + " --stop --workers 1 " + args
		}
		all = append(all, layerOf(args))
	}
	return all
}

// layerOf is the layer of these arguments.
func layerOf(args string) layer {
	l := layer{name: simulator, args: strings.Fields(args)}
	if l.args[0] == "check" {
		l.name = checker
	}
	return l
}

// at is the layer with the one seed that its proof names; a walk of the checker stays as it is.
func (l layer) at(proof string) layer {
	m := regexp.MustCompile(`in seed (\d+) at event`).FindStringSubmatch(proof)
	if l.name != simulator || m == nil {
		return l
	}
	out := layer{name: l.name, args: slices.Clone(l.args)}
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

// try runs the program, or the story, in an environment and returns what it noticed, "" for nothing.
func (p *program) try(ctx context.Context, l layer, environ []string) (string, error) {
	path, dir := p.path, ""
	if l.pkg != "" {
		var err error
		if path, err = p.tests(ctx, l.pkg); err != nil {
			return "", err
		}
		dir = filepath.Join(p.root, filepath.FromSlash(l.pkg))
	}
	limited, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	var text bytes.Buffer
	cmd := exec.CommandContext(limited, path, l.args...) //nolint:gosec // it was built here
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ, &text, &text
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

// proof is the line that says what was noticed; of a story the one after it, where the test says so.
func proof(text string) (string, error) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		for _, sign := range []string{"VIOLATION ", "broken: ", "panic: "} {
			if rest, ok := strings.CutPrefix(line, sign); ok {
				return strings.TrimSpace(rest), nil
			}
		}
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok && i+1 < len(lines) {
			return rest + ": " + strings.TrimSpace(lines[i+1]), nil
		}
	}
	return "", fmt.Errorf("it failed and printed: %s", text)
}

// tests is the program with the tests of a package and all flaws in them. It is built when the first story of the
// package is played.
func (p *program) tests(ctx context.Context, pkg string) (string, error) {
	return p.once("tests of "+pkg, func() (string, error) {
		return p.flaws.BuildTests(ctx, p.root, filepath.Join(p.dir, filepath.FromSlash(pkg)), "./"+pkg)
	})
}
