package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// layer is one way to look for a flaw.
type layer struct {
	name string
	args []string
	pkg  string // of a story: whose tests are run
}

// The names of the layers.
const (
	Simulator = "simulator"
	Checker   = "checker"
	Story     = "story"
)

// String is what to type.
func (l layer) String() string {
	if l.pkg != "" {
		return "go test ./" + l.pkg + " " + strings.Join(l.args, " ")
	}
	return "rotasim " + strings.Join(l.args, " ")
}

// layers are tried one after the other, the cheapest first. Their sum is less than what every change is put through.
func layers(protocol string) []layer {
	check := func(args ...string) layer {
		return layer{name: Checker, args: append([]string{"check", "--protocol", protocol, "--states", "100000"}, args...)}
	}
	sim := func(args ...string) layer {
		return layer{name: Simulator, args: append([]string{"--protocol", protocol, "--stop", "--workers", "1"}, args...)}
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
	if protocol == "sync" { // its walks have few states; what they miss needs storms
		return []layer{
			check("--members", "2", "--crashes", "1"),
			check("--members", "1", "--crashes", "1", "--restarts", "1", "--forgets", "1"),
			check("--members", "2", "--partitions", "2", "--leaves", "1"),
			check("--members", "2", "--suspicions", "1"),
			sim("--first", "0", "--seeds", "5", "--hours", "0.2", "--again", "0"),
			check("--members", "2", "--partitions", "2", "--crashes", "1", "--restarts", "1"),
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
	l := layer{name: Simulator, args: strings.Fields(args)}
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

// story is a test of a package. It notices a flaw in any run, where seeds and walks of the checker meet the flaw by luck, or only with much time: the right
// read must be old, or the right answer late.
type story struct{ pkg, test string }

// stories are those of the flaws that are looked for by one. A flaw that its story does not notice has survived.
func stories() map[string]story {
	const lease, leader, replica, group = "internal/protocol/lease", "internal/protocol/leader", "internal/protocol/replica", "internal/protocol/sync"
	return map[string]story{
		"a draining member gets partitions":                            {"internal/schedule", "TestBudgetConverges"},
		"a run that ends makes room for one whose lease has expired":   {"internal/work/supervisor", "TestStepScripts"},
		"a write of unknown outcome counts as done":                    {leader, "TestALostWriteIsMadeAgain"},
		"an entry inside a snapshot is appended for ever":              {replica, "TestWhatWasAppliedIsNotDenied"},
		"an own entry is applied before those that stand before it":    {replica, "TestOwnEntryBehindOthers"},
		"an urgent look at a heartbeat waits":                          {leader, "TestAnUrgentLookDoesNotWait"},
		"another history is read on":                                   {group, "TestAnotherHistoryIsNotReadOn"},
		"lease: a claim counts before it is acknowledged":              {lease, "TestAForgottenClaimIsConfirmed"},
		"lease: a leader numbers its views by its board alone":         {lease, "TestViewsOfAnotherLeader"},
		"lease: a renewal writes over what it finds":                   {"internal/protocol/beat", "TestAFenceStays"},
		"lease: a survey reads a job before its partitions":            {lease, "TestASurveyIsNotOneInstant"},
		"lease: a survey reads the Node List first":                    {lease, "TestASurveyIsNotOneInstant"},
		"lease: an index from before a job was forgotten counts":       {lease, "TestAnIndexTakenLongBefore"},
		"lease: an index that was taken long before counts":            {lease, "TestAnIndexTakenLongBefore"},
		"lease: shares are offered under the layout of another leader": {lease, "TestOldListLaysOutNothing"},
		"lease: shares of a former layout are claimed":                 {lease, "TestSharesOfAFormerLayout"},
		"lease: slots that an old list does not show count as free":    {lease, "TestOldListLaysOutNothing"},
		"lease: what an old list shows counts":                         {lease, "TestOldListMakesNothing"},
		"lease: what an old read does not show is given up":            {lease, "TestOldReadsTakeNothing"},
		"lease: what is read back counts":                              {lease, "TestReadBackIsNoAcknowledgement"},
	}
}

// layer is the one that plays the story.
func (s story) layer() layer {
	return layer{name: Story, args: []string{"-test.run", "^" + s.test + "$", "-test.timeout", "60s"}, pkg: s.pkg}
}

// tests is the program with the tests of a package and all flaws in them. It is built when the first story of the package is played.
func (p *program) tests(ctx context.Context, pkg string) (string, error) {
	p.mu.Lock()
	build, ok := p.built[pkg]
	if !ok {
		build = sync.OnceValues(func() (string, error) {
			return p.flaws.BuildTests(ctx, p.root, filepath.Join(p.dir, filepath.FromSlash(pkg)), "./"+pkg)
		})
		p.built[pkg] = build
	}
	p.mu.Unlock()
	return build()
}
