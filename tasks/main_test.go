package tasks

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local lets tests connect to servers of their own.
var local = Options{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}}

// define makes a definition with a config that any JSON value may be.
func define(tb testing.TB, config any) work.Definition {
	tb.Helper()
	b, err := json.Marshal(config)
	must.Succeed(tb, err)
	return work.Definition{Config: b}
}

// object is a config in tests.
type object = map[string]any

func TestBuiltinTable(t *testing.T) {
	t.Parallel()
	table := Builtin(Options{})
	for name, typ := range table {
		if typ.Name != name || typ.Doc == "" || typ.New == nil || typ.Periodic && typ.DefaultEvery <= 0 {
			t.Errorf("type %q: incomplete %+v", name, typ)
		}
	}
	if _, ok := table["witness"]; ok {
		t.Error("witness is offered though Options.Witness is false")
	}
	if _, ok := Builtin(Options{Witness: true})["witness"]; !ok {
		t.Error("witness is not offered though Options.Witness is true")
	}
	table["http"] = work.Type{}
	if Builtin(Options{})["http"].Name != "http" {
		t.Error("changing one table changed another")
	}
}

// checkFaults makes runners by the configs of a file, each of which is refused as it says.
func checkFaults(t *testing.T, o Options, file string) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	table := Builtin(o)
	_, rows, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n    ", "\t"), "\n")
	for row := range strings.SplitSeq(rows, "\n") {
		task, want, _ := strings.Cut(row, "\t")
		typ, config, _ := strings.Cut(task, " ")
		path, says, _ := strings.Cut(want, ": ")
		says, hint, _ := strings.Cut(says, " | ")
		_, err := table[typ].New(work.Definition{Config: json.RawMessage(config)})
		if ce, ok := errors.AsType[*work.ConfigError](err); !ok {
			t.Errorf("%s: got %v, want a ConfigError", task, err)
		} else if ce.Path != path || !strings.Contains(err.Error(), says) || !strings.Contains(ce.Hint, hint) {
			t.Errorf("%s:\n got path %q, %q, hint %q\nwant path %q, %q, hint %q", task, ce.Path, err, ce.Hint, path,
				says, hint)
		}
	}
}
