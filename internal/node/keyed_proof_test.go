//go:build proof

package node

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// TestKeyedFlawsAreFound builds the tests of this package with flaws of stages that keep state laid over the source:
// TestKeyedUnderFaults must find each.
func TestKeyedFlawsAreFound(t *testing.T) {
	flaw := func(name, old, flawed string) mutant.Flaw {
		return mutant.New(name, "internal/work/stage/keyed.go", old, flawed)
	}
	set := mutant.Set{
		flaw("a message counts again whose acknowledgement was lost", "if t.state.has(m) {",
			"if t.state.has(m) && t.full {"),
		flaw("messages are not noted in the state", "		t.state.note(m)\n", "		_ = m\n"),
		flaw("a shard ends when it is sealed", "return !d.Drained() })", "return !d.Sealed })"),
		flaw("the state does not name the unit", "Inputs: append(held[:1:1], t.inputs...)",
			"Inputs: append(append([]store.Message{}, t.inputs...), held[0])"),
		flaw("the next state is the one before", "if err == nil && out.err == nil {",
			"if err == nil && out.err == nil && t.state.data == nil {"),
		flaw("the shard is sealed without what is left", "	t.put(out.some())\n", ""),
	}
	ctx := context.Background() // the deadline of the test binary bounds it
	root := must.Get(mutant.Root(ctx))(t)
	program := must.Get(set.BuildTests(ctx, root, t.TempDir(), "./internal/node"))(t)
	run := func(environ []string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // for a flaw that makes it endless
		defer cancel()
		// Goroutines of a bubble run in an order of their own: an instant that shows a flaw is met in most runs, not in
		// each.
		cmd := exec.CommandContext(ctx, program, "-test.run", "^TestKeyedUnderFaults$", "-test.count", "10",
			"-test.failfast")
		cmd.Dir, cmd.Env = filepath.Join(root, "internal", "node"), environ
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(set.Sound()); err != nil {
		t.Fatalf("without a flaw: %v\n%s", err, out)
	}
	for _, f := range set {
		t.Run(f.Name, func(t *testing.T) {
			environ := must.Get(set.Environ(f.Name))(t)
			if out, err := run(environ); err == nil || !strings.Contains(out, "--- FAIL: TestKeyedUnderFaults") {
				t.Errorf("it is not found: %v\n%.300s", err, out)
			}
		})
	}
}
