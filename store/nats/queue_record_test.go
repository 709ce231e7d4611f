package nats

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rota-run/rota/store"
)

// A record gives back what was put in, and is hardly larger; one that was cut off is damaged.
func TestRecordsOfUnits(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte{0xff}, 100_000)
	in := []store.Put{{Shard: store.Shard{Edge: "edge/a/b", Number: 3}, Segments: 7, Data: data}, {Shard: store.Shard{Edge: "x"}, Seal: true}, {Shard: store.Shard{Edge: "y"}, Data: []byte("z")}}
	b, err := encodeOutputs(in)
	if err != nil || len(b) > len(data)+300 {
		t.Fatalf("%d bytes of %d, %v", len(b), len(data), err)
	}
	out, err := decodeOutputs(b)
	if err != nil || len(out) != 3 || out[0].Shard != in[0].Shard || out[0].Segments != 7 || !bytes.Equal(out[0].Data, data) || !out[1].Seal || string(out[2].Data) != "z" {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, n := range []int{0, 1, 50, 1000, len(b) - 1} {
		if _, err := decodeOutputs(b[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
