package tasks

import (
	"encoding/json"
	"errors"
	"net/netip"
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

// faultCase is a config and what its refusal must say.
type faultCase struct {
	typ, config, path, says, hint string
}

func checkFaults(t *testing.T, o Options, cases []faultCase) {
	t.Helper()
	table := Builtin(o)
	for _, c := range cases {
		_, err := table[c.typ].New(work.Definition{Config: json.RawMessage(c.config)})
		var ce *work.ConfigError
		switch {
		case !errors.As(err, &ce):
			t.Errorf("%s %s: got %v, want a ConfigError", c.typ, c.config, err)
		case ce.Path != c.path || !strings.Contains(err.Error(), c.says) || !strings.Contains(ce.Hint, c.hint):
			t.Errorf("%s %s:\n got path %q, %q, hint %q\nwant path %q, %q, hint %q", c.typ, c.config, ce.Path, err, ce.Hint, c.path, c.says, c.hint)
		}
	}
}
