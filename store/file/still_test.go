package file

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestDatabaseAtRest: where the file system takes no writes, an observer reads what nobody writes, without a file of
// its own, and stops where somebody writes after all. What is not at rest it reads as everywhere else.
func TestDatabaseAtRest(t *testing.T) {
	t.Parallel()
	dir, ctx := place(t), deadline(t)
	member := openIn(t, dir, Options{})
	must.Succeed(t, must.Err(member.Put(ctx, store.Doc{Key: "a", Value: []byte("x")})))
	frozen := Options{ReadOnly: true, frozen: func(string) bool { return true }}
	beside := openIn(t, dir, frozen)
	if beside.still != nil {
		t.Error("a database that a member has open is at rest")
	}
	must.Succeed(t, errors.Join(beside.Close(), member.Close()))
	before := files(t, dir)
	observer := openIn(t, dir, frozen)
	if d, err := observer.Get(ctx, "a"); err != nil || string(d.Value) != "x" {
		t.Errorf("get: %q, %v", d.Value, err)
	}
	if now := files(t, dir); !slices.Equal(now, before) {
		t.Errorf("an observer makes files: %q, before %q", now, before)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, logName), nil, fileMode))
	if _, err := observer.Get(ctx, "a"); !errors.Is(err, store.ErrUnavailable) ||
		!strings.Contains(err.Error(), "by another path") {
		t.Errorf("get while somebody writes: %v", err)
	}
	must.Succeed(t, os.Remove(filepath.Join(dir, logName)))
	must.Succeed(t, must.Err(observer.Get(ctx, "a")))
	member = openIn(t, dir, Options{})
	must.Succeed(t, must.Err(member.Put(ctx, store.Doc{Key: "b", Value: []byte("y")})))
	must.Succeed(t, member.Close())
	if _, err := observer.Get(ctx, "b"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get when somebody has written and gone: %v", err)
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		names = append(names, e.Name())
	}
	return names
}
