//go:build proof

package doclog

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/mutant"
)

// seconds are scenarios that take seconds each.
func seconds() []scenario {
	one, two := appends("x1"), appends("x1", "x2")
	saved := then(two, saves(2))
	return []scenario{
		{"two appenders, a trimmer and a reader", model{scripts: []script{appends("a1"), appends("b1"), trims(2), page(1)}, before: saved, known: []uint64{1, 2, 2, 2}}},
		{"two trimmers", model{scripts: []script{then(saves(1), trims(1)), then(saves(2), trims(2))}, before: two}},
		{"two trimmers and a reader", model{scripts: []script{then(saves(1), trims(1)), saves(2), reads}, before: two, known: []uint64{2, 2, 2}}},
		{"two trims of one snapshot", model{scripts: []script{trims(1), trims(2), appends("a1")}, before: saved, known: []uint64{2, 2, 2}}},
		{"a seed and two appenders", model{scripts: []script{seeds(7), appends("a1"), appends("b1")}, seeding: true}},
		{"two seeds and an appender", model{scripts: []script{seeds(7), seeds(9), appends("a1")}, seeding: true}},
		{"two appenders that are passed, one reply lost", model{scripts: []script{appends("a1"), appends("b1"), compacts}, before: one, known: []uint64{1, 1, 1}, faults: 1, only: "reply lost"}},
		{"two trimmers, one fault", model{scripts: []script{then(saves(1), trims(1)), saves(2)}, before: two, known: []uint64{2, 2}, faults: 1}},
		{"a seed and an appender, two faults", model{scripts: []script{seeds(7), appends("a1")}, seeding: true, faults: 2}},
	}
}

// TestEveryInterleavingSeconds is TestEveryInterleaving on the larger scenarios.
func TestEveryInterleavingSeconds(t *testing.T) {
	t.Parallel()
	explore(t, seconds())
}

// TestEveryInterleavingOneByOneSeconds is the same where each document is a request of its own.
func TestEveryInterleavingOneByOneSeconds(t *testing.T) {
	t.Parallel()
	explore(t, oneByOne(seconds()))
}

// TestFlawsAreFound builds the tests of this package with all flaws laid over the source, and has each found by the test that is named for it.
func TestFlawsAreFound(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=proof") // what is built has the larger scenarios too
	root, err := mutant.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var set mutant.Set
	for _, f := range flaws() {
		set = append(set, f.Flaw)
	}
	program, err := set.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./store/doclog")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flaws() {
		t.Run(f.Name, func(t *testing.T) {
			cmd := exec.CommandContext(within(t, 5*time.Minute), program, "-test.run", f.found)
			cmd.Dir = filepath.Join(root, "store", "doclog")
			if cmd.Env, err = set.Environ(f.Name); err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: ") {
				t.Errorf("%s does not find it: %v\n%s", f.found, err, out)
			}
			t.Logf("%.2000s", out)
		})
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
