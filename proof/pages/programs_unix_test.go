//go:build unix

package pages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// workshop is where the programs are built, each once for all tests.
type workshop struct {
	dir string
	mu  sync.Mutex
	ran map[string]error // by line
}

var programs workshop

func TestMain(m *testing.M) {
	os.Exit(inWorkshop(m))
}

func inWorkshop(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-pages-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs.dir, programs.ran = dir, map[string]error{}
	return m.Run()
}

// root is where the pages say that this is done.
const root = "../.."

// build runs the lines of a block that build programs, and returns the folder in which they are. Only this is changed:
// bin/ is another folder.
func (w *workshop) build(t *testing.T, block string) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "go build ") {
			continue
		}
		if _, ok := w.ran[line]; !ok {
			w.ran[line] = w.run(t, line)
		}
		must.Succeed(t, w.ran[line])
	}
	return w.dir
}

func (w *workshop) run(t *testing.T, line string) error {
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		strings.NewReplacer("../bin/", w.dir+"/", "bin/", w.dir+"/").Replace(line))
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.TrimSpace(line), err, out)
	}
	return nil
}

// guide reads the page of a store, with other ports and directories in place of its own.
func guide(t *testing.T, store string, instead ...string) Guide {
	t.Helper()
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "stores", store+".md")))(t)
	g, err := ReadGuide(strings.NewReplacer(instead...).Replace(string(page)))
	if err != nil {
		t.Fatalf("docs/stores/%s.md: %v", store, err)
	}
	return g
}
