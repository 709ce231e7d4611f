package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// TestTable: every flaw can still be put into the source, and has a name of its own.
func TestTable(t *testing.T) {
	t.Parallel()
	root := must.Get(mutant.Root(t.Context()))(t)
	if err := mutant.Flaws(allFlaws()).Check(root); err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	for _, f := range allFlaws() {
		names[f.Name] = true
	}
	for name, args := range known() { // order-free: each is looked at
		if !names[name] || args == "" {
			t.Errorf("known.txt has %q: %q, which is no flaw of the table: write it again with rotasim mutants --learn",
				name, args)
		}
	}
	if n := len(known()); n < 100 {
		t.Errorf("known.txt has %d flaws: it is not read", n)
	}
	if len(names) < 87 {
		t.Errorf("%d flaws, want 87 at least", len(names))
	}
	for name, s := range stories() { // order-free: each is looked at
		if !names[name] {
			t.Errorf("the story %s is for %q, which is no flaw of the table", s, name)
		}
		if !s.written(t, root) {
			t.Errorf("there is no test for %s, which is to notice that %s", s, name)
		}
	}
}

// written reports whether a package has the test of a story.
func (l layer) written(t *testing.T, root string) bool {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(l.pkg), "*_test.go")))(t)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+strings.Trim(l.args[1], "^$")+"(t *testing.T) {\n")
	})
}

// TestTheSeedIsRemembered: a flaw that one of many seeds has met is looked for there at once the next time; a walk of
// the checker is remembered whole.
func TestTheSeedIsRemembered(t *testing.T) {
	t.Parallel()
	all := layers("replica")
	last := all[len(all)-1]
	if got := strings.Join(last.at("G9 broken in seed 211 at event 34330 (1h1m55s): 1m55s after the last fault: m00-35 is heartbeat").args, " "); got != "--protocol replica --stop --workers 1 --first 211 --seeds 1 --hours 1" {
		t.Errorf("remembered as %q", got)
	}
	walk := all[1]
	args := strings.Join(walk.at("G2: j#0 runs on two members at once").args, " ")
	if args != strings.Join(walk.args, " ") || layerOf(args).name != checker {
		t.Errorf("remembered as %q, by the %s", args, layerOf(args).name)
	}
	if last.at("panic: runtime error").args[5] != last.args[5] {
		t.Error("a proof without a seed changed the layer")
	}
}

// TestTheSoundProgramIsAskedToo: what a layer finds in the program without a flaw proves nothing about one.
func TestTheSoundProgramIsAskedToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rotasim")
	text := "#!/bin/sh\n[ \"$1\" = check ] && exit 0\necho \"broken: a promise\"\nexit 1\n"
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o700))
	s := &program{path: path, done: make(map[string]func() (string, error))}
	for range 2 { // the second answer is remembered
		if err := s.passes(t.Context(), layer{name: checker, args: []string{"check"}}); err != nil {
			t.Error(err)
		}
		err := s.passes(t.Context(), layer{name: simulator, args: []string{"--first", "94"}})
		if err == nil || !strings.Contains(err.Error(),
			"rotasim --first 94 finds this without the flaw too: a promise") {
			t.Errorf("got %v", err)
		}
	}
}
