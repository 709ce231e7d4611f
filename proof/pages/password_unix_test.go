//go:build unix

package pages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
)

// What the page gives a user of NATS is all that a member needs, and what looks at it. A check needs more, and names
// it.
func TestUserOfNATS(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile(filepath.Join(root, "docs", "stores", "nats.md")))(t)
	blocks := must.Get(pages.Blocks(string(text)))(t)
	i := slices.IndexFunc(blocks, func(b pages.Block) bool { return strings.HasPrefix(b.Text, "accounts: {") })
	if i < 0 {
		t.Fatal("the page has no block that begins with accounts: {")
	}
	g := guide(t, "nats", readerOfNATS(t).instead...)
	g.Server = strings.Replace(g.Server, "<<END\n", "<<'END'\n"+blocks[i].Text, 1)
	store := `"` + g.Store + `?user=rota&password=env:NATS_PASSWORD"`
	for _, line := range []*string{&g.Check, &g.Run, &g.Members, &g.Tasks} {
		*line = strings.Replace(*line, g.Store, store, 1)
	}
	u := newUser(t, programs.build(t, g.Programs), "NATS_PASSWORD=not-a-secret")
	p := &play{user: u, Guide: g}
	server, err := u.types(filepath.Join(u.dir, "server"), g.Server)
	must.Succeed(t, err)
	last := error(nil)
	err = await(t.Context(), "the check says which permission is missing", func() (bool, error) {
		_, last = u.asks(t.Context(), g.Check)
		return last != nil && strings.Contains(last.Error(), `$JS.API.STREAM.INFO.KV_rota-store-check`), server.failed()
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
	for _, step := range []func() error{
		func() error { return p.unpack(t.Context()) }, func() error { return p.start(t.Context()) },
		func() error { return p.look(t.Context()) },
		func() error { return p.interrupt(t.Context()) },
	} {
		must.Succeed(t, step())
	}
}
