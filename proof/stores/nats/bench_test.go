package nats_test

import (
	"testing"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
)

// client is the vendor's client as its manual shows it, on a stream of its own.
func client(b *testing.B) (js jetstream.JetStream, subject string) {
	b.Helper()
	conn, err := nc.Connect(address)
	must.Succeed(b, err)
	b.Cleanup(conn.Close)
	js, err = jetstream.New(conn)
	must.Succeed(b, err)
	name := bucket()
	must.Succeed(b, must.Err(js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "bench_" + name, Subjects: []string{"bench." + name}})))
	return js, "bench." + name
}
