package rotacmd_test

import (
	"context"
	"testing/fstest"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/rotacmd"
)

// The whole of a binary that has what rota has, and more. It runs as a member with
//
//	weather run --store file:./weather-data
//
// A program embeds its task files (embed.FS), or has none; examples/weather adds a store and a publisher too.
func ExampleMain() {
	station := rota.NewCheck("station", func(_ context.Context, g *rota.Grant, c struct{ City string }) error {
		g.Value("station.degrees", float64(len(c.City)), nil)
		return nil
	})
	files := fstest.MapFS{"home.yaml": {Data: []byte("type: station\nevery: 1m\nconfig: {city: Home}\n")}}
	rotacmd.Main(rotacmd.WithName("weather"), rotacmd.WithTypes(station), rotacmd.WithSource("weather", files))
}
