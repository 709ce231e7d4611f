package directory

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
)

// TestEqualFilesShareWhatTheyMean: files with equal contents have one spec, unless their extensions make something else of it, and a second scan has the same
// strings as the first. What is wrong with a name they do not share.
func TestEqualFilesShareWhatTheyMean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noop := `{"type": "noop", "every": "1m"}`
	for name, text := range map[string]string{"a.yaml": noop, "b.yaml": noop, "c.json": noop, "d.yaml": "type: noop\nevery: 2m\n", "e.yaml": "type: unknown\n", "f.yaml": "type: unknown\n", "rota.x.yaml": noop, "x y.yaml": noop} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	types := work.Types{"noop": {Periodic: true, New: func(work.Definition) (work.Runner, error) { return nil, nil }}}
	s := NewScanner([]string{dir}, "s", types)
	first := s.Scan()
	if len(first.Definitions) != 4 || len(first.Faults) != 4 || first.Faults[0].Path == first.Faults[1].Path {
		t.Fatalf("got %v and %v", first.Definitions, first.Faults)
	}
	d := first.Definitions
	if d[0].Spec != d[1].Spec || d[0].Spec == d[2].Spec || d[0].Spec == d[3].Spec {
		t.Error("equal files do not share a spec, or others do")
	}
	if !same(d[0].Spec, d[2].Spec) || same(d[0].Spec, d[3].Spec) {
		t.Errorf("specs are %v", d)
	}
	again := s.everything(false).Definitions
	for i := range d {
		if unsafe.StringData(again[i].Path) != unsafe.StringData(d[i].Path) {
			t.Errorf("%s: a second scan has a path of its own", d[i].ID)
		}
	}
	if len(s.paths.one) != 4 || len(s.filesOf("a")) != 1 || len(s.filesOf("e")) != 1 {
		t.Errorf("files beside the definitions: %v", s.paths.one)
	}
}
