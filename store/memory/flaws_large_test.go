//go:build proof

package memory

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

// TestFlawsAreFound builds the tests of this package with all flaws laid over the source, and has each found by the test that is named for it.
func TestFlawsAreFound(t *testing.T) {
	root, err := mutant.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var set mutant.Set
	for _, f := range flaws() {
		set = append(set, f.Flaw)
	}
	program, err := set.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./store/memory")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flaws() {
		t.Run(f.Name, func(t *testing.T) {
			// What hangs is found too: by the time that it may take.
			cmd := exec.CommandContext(within(t, 2*time.Minute), program, "-test.run", f.found, "-test.timeout", "20s", "-rapid.nofailfile", "-rapid.shrinktime", "1s", "-rapid.seed", "1", "-rapid.checks", "2000")
			cmd.Dir = filepath.Join(root, "store", "memory")
			if cmd.Env, err = set.Environ(f.Name); err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: ") && !strings.Contains(string(out), "panic: ") {
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
