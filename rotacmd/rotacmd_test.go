package rotacmd_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/rotacmd"
	"github.com/rota-run/rota/rotacmd/internal/command"
)

// asBinary makes the test binary the binary of the example.
const asBinary = "ROTACMD_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		ExampleMain()
		return
	}
	os.Exit(m.Run())
}

// weather runs a command of the example to its end.
func weather(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), asBinary+"=yes")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "home.yaml"),
		[]byte("type: station\nconfig: {city: Home, town: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A binary of one's own has the commands of rota under its own name, and checks its own types.
// TestOptionsAdd: an option adds, and the last one that names a source counts.
func TestOptionsAdd(t *testing.T) {
	t.Parallel()
	var p command.Program
	for i, name := range []string{"a", "b"} {
		f := rota.NewFunc(name, func(context.Context, int) (int, error) { return i, nil })
		for _, o := range []rotacmd.Option{
			rotacmd.WithTypes(rota.NewType(name, func(context.Context, *rota.Grant, struct{}) error { return nil })),
			rotacmd.WithFunctions(f), rotacmd.WithStore(name, nil),
			rotacmd.WithSource(name, fstest.MapFS{}), rotacmd.WithFiles(name, nil), rotacmd.WithStorage(name, nil),
			rotacmd.WithPublisher(name, nil),
		} {
			o(&p)
		}
	}
	have := map[string][]string{
		"types":     {p.Types[0].Name, p.Types[1].Name},
		"functions": {p.Functions[0].Name(), p.Functions[1].Name()}, "stores": {p.Stores[0].Scheme, p.Stores[1].Scheme},
		"sources": slices.Sorted(maps.Keys(p.Sources)), "files": {p.Files[0].Scheme, p.Files[1].Scheme},
		"storages":   {p.Storages[0].Scheme, p.Storages[1].Scheme},
		"publishers": {p.Publishers[0].Scheme, p.Publishers[1].Scheme},
	}
	for what, names := range have { // order-free: each is judged alone
		if !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("%s: %q", what, names)
		}
	}
}

func TestOwnBinary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, 0, "weather run --store file:./rota-data"},
		{[]string{"statsu"}, 2, "weather: unknown command \"statsu\"\ntry: weather status"},
		{[]string{"validate", "home.yaml"}, 1, "town"},
		{[]string{"status", "--store", "file:none"}, 1, "try: weather run --store file:none ./tasks"},
		{[]string{"status", "--store", "etdc://x/y"}, 2, "unknown kind"},
	} {
		if out, code := weather(t, c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("weather %s: code %d, want %d with %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, out)
		}
	}
}
