package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

func itemsOf(t *testing.T, path string) []int64 {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	var items []int64
	for text := range strings.Lines(string(b)) {
		var l witnessLine
		must.Succeed(t, json.Unmarshal([]byte(text), &l))
		items = append(items, l.Item)
	}
	return items
}

func TestWitnessItemsGoesOnWhereTheLastOwnerStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "acts")
	d := work.Definition{Config: json.RawMessage(fmt.Sprintf(`{"path":%q,"items":3}`, path))}
	g, h := worktest.NewGrant(t, d)
	typ := Options{}.witnessItems()
	must.Succeed(t, worktest.Run(t, typ, g))
	if got := fmt.Sprint(itemsOf(t, path)); got != "[1 2 3]" {
		t.Fatalf("items %s", got)
	}
	next := worktest.NewGrantOf(t, h, g.Partition, g.Token+1, d)
	next.Definition.Config = json.RawMessage(fmt.Sprintf(`{"path":%q,"items":5}`, path))
	must.Succeed(t, worktest.Run(t, typ, next))
	if got := fmt.Sprint(itemsOf(t, path)); got != "[1 2 3 4 5]" {
		t.Errorf("items %s: the next owner must go on behind the saved position", got)
	}
	g.Definition = next.Definition
	g.Definition.Config = json.RawMessage(fmt.Sprintf(`{"path":%q,"items":6}`, path))
	if err := worktest.Run(t, typ, g); !errors.Is(err, work.ErrToken) {
		t.Errorf("a former owner: %v, want that its token is old", err)
	}
}

// A lease that is lost for a moment does not end the task.
func TestWitnessItemsWaitsForItsLease(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "acts")
		g, h := worktest.NewGrant(t, work.Definition{})
		h.SetValid(false)
		time.AfterFunc(5*itemsPause, func() { h.SetValid(true) })
		must.Succeed(t, itemsConfig{witnessConfig{path}, 3}.run(t.Context(), g))
		if got := fmt.Sprint(itemsOf(t, path)); got != "[1 2 3]" {
			t.Errorf("items %s", got)
		}
	})
}
