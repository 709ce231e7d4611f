package kafka

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/store"
)

// gathered reads records as the topic of snapshots has them, and returns the newest snapshot that is complete.
func gathered(records ...*kgo.Record) (best found) {
	open := make(map[string]*found)
	for i, r := range records {
		r.Offset = int64(i)
		if s := gather(open, r); s != nil && s.index > best.index {
			best = *s
		}
	}
	return best
}

func TestSnapshotParts(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789"), 3*partBytes/10)
	a := parts(store.Record{Index: 7, Data: data}, start{Shift: 5, Seed: 6})
	b := parts(store.Record{Index: 9, Data: nil}, start{})
	if len(a) != 3 || len(b) != 1 {
		t.Fatalf("%d and %d parts, want 3 and 1", len(a), len(b))
	}
	foreign := &kgo.Record{Value: []byte("hello"), Headers: []kgo.RecordHeader{{Key: partMark, Value: []byte("{")}}}
	wrong := &kgo.Record{Value: []byte("other data"), Headers: a[1].Headers}
	for name, c := range map[string]struct {
		records []*kgo.Record
		index   uint64
		first   int64
	}{
		"nothing":                         {nil, 0, 0},
		"one":                             {a, 7, 0},
		"two savers at once":              {[]*kgo.Record{a[0], a[1], b[0], a[2]}, 9, 2},
		"the last part is missing":        {a[:2], 0, 0},
		"the first part was removed":      {a[1:], 0, 0},
		"others wrote between":            {[]*kgo.Record{foreign, a[0], foreign, a[1], a[2], foreign}, 7, 1},
		"an older one came later":         {[]*kgo.Record{b[0], a[0], a[1], a[2]}, 9, 0},
		"a part that was changed is none": {[]*kgo.Record{a[0], wrong, a[2]}, 0, 0},
	} {
		got := gathered(c.records...)
		if got.index != c.index || got.first != c.first || c.index == 7 && (!bytes.Equal(got.data, data) || got.start != (start{Shift: 5, Seed: 6})) {
			t.Errorf("%s: index %d from offset %d, %d bytes, %+v; want %d from %d", name, got.index, got.first, len(got.data), got.start, c.index, c.first)
		}
	}
}

func TestSeedOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"7": 7, "0": 0, "-1": 0, "x": 0, "": 0, "18446744073709551615": 0} {
		r := &kgo.Record{Headers: []kgo.RecordHeader{{Key: "other"}, {Key: seedMark, Value: []byte(text)}}}
		if got := seedOf(r); got != want {
			t.Errorf("seed %q: %s, want %d", text, strconv.FormatUint(got, 10), want)
		}
	}
}
