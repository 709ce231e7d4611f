//go:build unix

package pages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
)

// The page of flows, from nothing to the end: three processes, two flows of built-in stages, and what the page shows of
// them.
func TestFlowsPage(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile(filepath.Join(root, "docs", "guide", "flows.md")))(t)
	all := must.Get(pages.Blocks(string(text)))(t)
	blocks := slices.DeleteFunc(all, func(b pages.Block) bool {
		return b.Section != "From nothing to the end" && b.Section != "Windows"
	})
	if len(blocks) != 4 || !strings.Contains(blocks[1].Text, "FLOW ") || !strings.Contains(blocks[3].Text, "late") {
		t.Fatalf("the sections have the blocks %+v, want what is typed and what comes, twice", blocks)
	}
	u := newUser(t, programs.build(t, guide(t, "file").Programs))
	// Only the folder is another one.
	dir := filepath.Join(u.dir, "flow")
	typed, err := u.types(u.dir, strings.ReplaceAll(blocks[0].Text, "/tmp/flow", dir))
	must.Succeed(t, err)
	err = await(t.Context(), "the job is completed, and its segments are counted", func() (bool, error) {
		said := typed.said()
		return strings.Contains(said, "3 \"quick\"") && strings.Contains(said, "long is completed"), typed.failed()
	})
	must.Succeed(t, err)
	if !strings.Contains(spaced(typed.said()), spaced(blocks[1].Text)) {
		t.Errorf("the picture is not the one of the page:\n%s", blocks[1].Text)
	}
	windows := must.Get(u.types(dir, strings.ReplaceAll(blocks[2].Text, "/tmp/flow", dir)))(t)
	must.Succeed(t, windows.end(t.Context()))
	if !strings.Contains(windows.said(), blocks[3].Text) {
		t.Errorf("the windows are not those of the page:\n%s", windows.said())
	}
}

// spaced is a text without the spaces at the ends of its lines.
func spaced(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return strings.TrimSpace(b.String())
}
