package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

func TestSaid(t *testing.T) {
	t.Parallel()
	p := &Play{dir: t.TempDir()}
	for text, want := range map[string]string{"one\ntwo\n\n": `ends with "two"`, "one": `ends with "one"`,
		"\n": "is empty"} {
		must.Succeed(t, os.WriteFile(filepath.Join(p.dir, "a.log"), []byte(text), 0o600))
		if got := p.said("a"); !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := p.said("b"); !strings.HasPrefix(got, "its log cannot be read: ") {
		t.Errorf("no log: got %q", got)
	}
}
