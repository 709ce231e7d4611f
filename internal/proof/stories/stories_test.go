package stories_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "For readers.\n\n# A comment.\nstory: one\nstart a # at once\n\n  sleep 1s#x\n\nstory: two\nexpect\n"
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600))
	want := []stories.Story{{"one", []string{"start a", "sleep 1s#x"}}, {"two", []string{"expect"}}}
	if got := stories.Read(t, filepath.Join(dir, "*.txt")); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is wanted and what is not are told apart, also where a text begins with "!".
func TestCut(t *testing.T) {
	t.Parallel()
	act, texts := stories.Cut(`ok status $IT\nx => ! it waits =>! gone => \nline`, "$IT", "this")
	if act != "ok status this\nx" || len(texts.Want) != 2 || len(texts.Never) != 1 {
		t.Fatalf("%q, %q", act, texts)
	}
	for text, want := range map[string]bool{
		"! it waits\nline": true, "it waits\nline": false, "! it waits line": false,
		"! it waits\nline that is gone": false,
	} {
		if got := texts.In(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// Each row of a table comes once, and neither the words for readers nor remarks do.
func TestRows(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rows.txt")
	must.Succeed(t, os.WriteFile(file, []byte("For readers.\n\n# A remark.\n$ONE#x => a => b\n\ntwo\n"), 0o600))
	var got []string
	for row, said := range stories.Rows(t, file, "$ONE", "1") {
		got = append(got, fmt.Sprint(row, said.Want))
	}
	if want := []string{"1#x[a b]", "two[]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
