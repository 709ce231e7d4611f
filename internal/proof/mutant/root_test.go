package mutant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestRootPassesOtherModules: a module in a folder, such as proof, is not where flaws are put.
func TestRootPassesOtherModules(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inside := filepath.Join(root, "proof", "chaos")
	must.Succeed(t, os.MkdirAll(inside, 0o750))
	for name, text := range map[string]string{
		"go.mod":       "// The module.\nmodule " + modulePath + "\n\ngo 1.26\n",
		"proof/go.mod": "module " + modulePath + "/proof\n",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	for _, from := range []string{root, filepath.Dir(inside), inside} {
		if got, err := rootAbove(from); got != root || err != nil {
			t.Errorf("from %s: got %q, %v", from, got, err)
		}
	}
	if got, err := rootAbove(filepath.Dir(root)); err == nil {
		t.Errorf("outside of the module: got %q", got)
	}
}
