//go:build unix

package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
)

// page is a document for users, by its path from the root, with its blocks.
type page struct {
	path   string
	blocks []pages.Block
}

// forUsers are the pages whose blocks are played or marked.
func forUsers(t *testing.T) []page {
	t.Helper()
	names := []string{
		"README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md", "docs/core.md", "docs/guarantees.md",
		"docs/peers.md", "docs/performance.md", "docs/stores.md",
		"docs/internals/claims.md", "docs/reference/simulate.md", "contrib/aws/GUIDE.md",
		"contrib/google/GUIDE.md", "contrib/kafka/GUIDE.md",
	}
	for _, dir := range []string{"docs/guide", "docs/stores"} {
		found := must.Get(filepath.Glob(filepath.Join(root, dir, "*.md")))(t)
		for _, name := range found {
			names = append(names, dir+"/"+filepath.Base(name))
		}
	}
	var all []page
	for _, name := range names {
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != "" && !inFence(string(text), i) {
				t.Errorf("%s:%d: a block without fences: this test cannot see it", name, i+1)
			}
		}
		blocks := must.Get(pages.Blocks(string(text)))(t)
		all = append(all, page{name, blocks})
	}
	return all
}

// inFence tells whether a line, counted from 0, is in a fenced block or goes on with an element of a list.
func inFence(text string, n int) bool {
	inside, item := false, false
	for i, line := range strings.Split(text, "\n") {
		if i == n {
			return inside || item
		}
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		item = regexp.MustCompile(`^(\d+\.|-) `).MatchString(line) || item && strings.HasPrefix(line, " ")
	}
	return false
}

// inSessions are the pages that TestSessions plays from top to bottom.
var inSessions = []string{
	"README.md", "docs/guide/quickstart.md", "docs/guide/library.md", "docs/guide/simulate.md",
	"docs/reference/simulate.md", "docs/guide/jobs.md",
	"docs/guide/functions.md", "docs/guide/task-files.md", "docs/guide/upgrade.md", "docs/guide/recovery.md",
}

var (
	markNot   = regexp.MustCompile(`^not played: (.{12,})$`)
	named     = regexp.MustCompile(`\b(Test|Example)[A-Z]\w+`)
	markOther = regexp.MustCompile(`^played: (Test\w+)$`)
)

// TestEachBlockIsPlayedOrMarked counts the blocks of all pages for users. What is Go is in a file that the tests
// compile; what is YAML and what is typed is played by TestSessions and TestGuides, or by the test that a mark names;
// anything else has a mark with the reason why it is not played.
func TestEachBlockIsPlayedOrMarked(t *testing.T) {
	t.Parallel()
	sources := goSources(t)
	all, compiled, played, marked := 0, 0, 0, 0
	for _, p := range forUsers(t) {
		guide := blocksOfGuide(t, p)
		for _, b := range p.blocks {
			all++
			switch {
			case b.Mark != "" && markNot.MatchString(b.Mark):
				marked++
				for _, name := range named.FindAllString(b.Mark, -1) {
					if !sources.plays(name, "") {
						t.Errorf("%s:%d: there is no %s", p.path, b.Line, name)
					}
				}
			case b.Mark != "" && markOther.MatchString(b.Mark):
				played++
				if name := markOther.FindStringSubmatch(b.Mark)[1]; !sources.plays(name, filepath.Base(p.path)) {
					t.Errorf("%s:%d: no test %s reads this page", p.path, b.Line, name)
				}
			case b.Mark != "":
				t.Errorf("%s:%d: the mark %q is neither played: TestNAME nor not played: REASON", p.path, b.Line,
					b.Mark)
			case b.Info == "go" && sources.have(b.Text):
				compiled++
			case b.Info != "go" && slices.Contains(inSessions, p.path), slices.Contains(guide, b.Text):
				played++
			default:
				t.Errorf("%s:%d: the block that begins with %q is neither played nor marked", p.path, b.Line,
					strings.SplitN(b.Text, "\n", 2)[0])
			}
		}
	}
	t.Logf("BLOCKS: %d in all, %d played and compared, %d of Go compiled and run, %d marked with a reason", all, played,
		compiled, marked)
	if all < 100 {
		t.Errorf("only %d blocks: the pages were not found", all)
	}
}

// blocksOfGuide are the texts of those blocks of a page of a store that TestGuides types.
func blocksOfGuide(t *testing.T, p page) []string {
	t.Helper()
	if filepath.Dir(p.path) != "docs/stores" {
		return nil
	}
	text := must.Get(os.ReadFile(filepath.Join(root, p.path)))(t)
	g := must.Get(ReadGuide(string(text)))(t)
	return []string{g.Programs, g.Server, g.Check, g.Run + "\n", g.Members + "\n" + g.Tasks + "\n"}
}

// sources are the texts of all Go files, by path.
type sources map[string]string

func goSources(t *testing.T) sources {
	t.Helper()
	all := sources{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	must.Succeed(t, err)
	return all
}

// have tells whether a text is in a file, each line of it, at any depth of indentation.
func (s sources) have(text string) bool {
	indent := regexp.MustCompile(`(?m)^\t*`)
	want := indent.ReplaceAllString(text, "")
	for path, source := range s { // order-free: any will do
		if strings.HasPrefix(path, filepath.Join(root, "proof")) {
			continue
		}
		if strings.Contains(indent.ReplaceAllString(source, ""), want) {
			return true
		}
	}
	return false
}

// plays tells whether there is a test of this name, in a file that names the page.
func (s sources) plays(test, name string) bool {
	for _, source := range s { // order-free: any will do
		if strings.Contains(source, "func "+test+"(") && strings.Contains(source, strings.TrimSuffix(name, ".md")) {
			return true
		}
	}
	return false
}
