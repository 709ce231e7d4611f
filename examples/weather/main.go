// Command weather is a binary of one's own: the command rota with a task type, a store, task files and a sink of its
// own.
//
//	weather run --store team:blue --publish archive:samples.jsonl
//	weather status --store team:blue
package main

import (
	"context"
	"embed"
	"strings"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/rotacmd"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
)

//go:embed tasks
var files embed.FS

func main() {
	station := rota.NewCheck("station", func(_ context.Context, g *rota.Grant, c struct{ City string }) error {
		g.Value("station.degrees", float64(len(c.City)), nil)
		return nil
	})
	team := func(ctx context.Context, p stores.Place) (store.Full, error) {
		return stores.Open(ctx, "file:teams/"+strings.TrimPrefix(p.URL, "team:"),
			stores.Options{Access: p.Access, Beside: p.Beside})
	}
	archive := func(path string) (rota.Publisher, error) { return publish.NewFile(path, publish.Options{}) }
	rotacmd.Main(
		rotacmd.WithName("weather"), rotacmd.WithTypes(station), rotacmd.WithStore("team", team),
		rotacmd.WithSource("weather", files), rotacmd.WithPublisher("archive", archive),
	)
}
