package literal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/must"
)

var update = flag.Bool("update", false, "write what was found into the pages")

// described is a model that can show a state.
type described[S any] interface {
	check.Model[S]
	Describe(S) string
}

// story writes the shortest way to a break, and the state that it ends in. The promise may be left open.
func story[S any](t *testing.T, m described[S], promise string) string {
	t.Helper()
	o := check.Options{States: 1_000_000}
	if promise == "" {
		o.Violations = 1
	}
	for _, v := range check.Explore(m, o).Violations {
		if promise != "" && v.Promise != promise {
			continue
		}
		var b strings.Builder
		s := m.Start()[0]
		for i, name := range v.Trace {
			fmt.Fprintf(&b, "%d. %s\n", i+1, name)
			s = along(t, m, s, name)
		}
		if got := m.Broken(s); got != v.Promise {
			t.Errorf("the moves end in %q, want %q", got, v.Promise)
		}
		fmt.Fprintf(&b, "\nThen: %s. Broken: *%s*.\n", m.Describe(s), v.Promise)
		return b.String()
	}
	t.Errorf("nothing breaks %q", promise)
	return ""
}

func along[S any](t *testing.T, m check.Model[S], s S, name string) S {
	t.Helper()
	for _, move := range m.Next(s) {
		if move.Name == name {
			return move.To
		}
	}
	t.Fatalf("there is no move %q", name)
	return s
}

// TestRingPage finds the breaks of the document's ring and compares them with the page that tells of them.
func TestRingPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, sc := range Scenarios() {
		fmt.Fprintf(&b, "### %s\n%s\n\n%s\n", sc.Title, sc.Flaw, story(t, NewDocument(sc), sc.Shows))
	}
	page(t, "0013-the-ring-read-literally.md", b.String())
}

// TestLockPage does the same for locks in documents.
func TestLockPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, sc := range LockScenarios() {
		fmt.Fprintf(&b, "### %s\n%s\n\n%s\n", sc.Title, sc.Flaw, story(t, NewLocks(sc, false), ""))
	}
	page(t, "0014-no-wall-clocks-in-locks.md", b.String())
}

// TestOurLocks walks the same scenarios by our rules: nothing breaks.
func TestOurLocks(t *testing.T) {
	t.Parallel()
	for _, sc := range LockScenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			r := check.Explore(NewLocks(sc, true), check.Options{})
			if len(r.Violations) > 0 || !r.Complete || r.States < 500 {
				t.Errorf("got %+v", r)
			}
			t.Logf("%d states, depth %d", r.States, r.Depth)
		})
	}
}

// page compares what stands between the marks of a page.
func page(t *testing.T, name, want string) {
	t.Helper()
	const begin, end = "<!-- found by the checker: begin -->\n", "<!-- found by the checker: end -->"
	path := filepath.Join("..", "..", "..", "docs", "decisions", name)
	text := must.Get(os.ReadFile(path))(t)
	head, rest, ok := strings.Cut(string(text), begin)
	got, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no marks", name)
	}
	if *update {
		must.Succeed(t, os.WriteFile(path, []byte(head+begin+want+end+tail), 0o600))
		return
	}
	if got != want {
		t.Errorf("%s tells another story than the checker finds; run this test with -update and read it", name)
	}
}
