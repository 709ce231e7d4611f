//go:build unix

package pages

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
	"github.com/rota-run/rota/internal/view"
)

var addressOfAPI = regexp.MustCompile(` · API (http://\S+)`)

// The other half of the page of the directory: one process alone, and where it shows what it does.
func TestInMemory(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile(filepath.Join(root, "docs", "stores", "file.md")))(t)
	blocks := must.Get(pages.Blocks(string(text)))(t)
	i := slices.IndexFunc(blocks, func(b pages.Block) bool { return b.Section == "In memory" })
	if i < 0 || !strings.HasPrefix(blocks[i].Text, "rota run --store memory: ") {
		t.Fatalf("the page has no section %q with the line of a process in %+v", "In memory", blocks)
	}
	p := &play{user: newUser(t, programs.build(t, guide(t, "file").Programs))}
	must.Succeed(t, p.unpack(t.Context()))
	m, err := p.types(p.dir, "exec "+blocks[i].Text)
	must.Succeed(t, err)
	err = await(t.Context(), "the process shows that it runs all tasks", func() (bool, error) {
		address := addressOfAPI.FindStringSubmatch(m.said())
		if address == nil {
			return false, m.failed()
		}
		res, err := http.Get(address[1] + "/v1/tasks")
		if err != nil {
			return false, m.failed()
		}
		defer res.Body.Close()
		var tasks []view.Task
		if err := json.NewDecoder(res.Body).Decode(&tasks); err != nil {
			return false, err
		}
		running := func(t view.Task) bool { return t.State == view.Running && t.Owner == m.member() }
		return len(tasks) == p.tasks && !slices.ContainsFunc(tasks, func(t view.Task) bool { return !running(t) }), nil
	})
	must.Succeed(t, err)
	if _, err := p.asks(t.Context(), "rota task list --store memory:"); err == nil ||
		!strings.Contains(err.Error(), "inside one process") {
		t.Errorf("another process looks into its memory: %v", err)
	}
	p.members = []*typed{m}
	if err := p.leave(t.Context()); err != nil {
		t.Error(err)
	}
}
