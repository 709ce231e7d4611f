package stories_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "For readers.\n\n# A comment.\nstory: one\nstart a # at once\n\n  sleep 1s\n\nstory: two\nexpect\n"
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600))
	want := []stories.Story{{"one", []string{"start a", "sleep 1s"}}, {"two", []string{"expect"}}}
	if got := stories.Read(t, filepath.Join(dir, "*.txt")); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
