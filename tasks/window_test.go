package tasks

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestWindowsAsCounted compares windows with a plain count of segments in any order, in batches of any size: each
// segment is in one window, or is late since its window was over by then. A window is put out as soon as it is over,
// and once.
func TestWindowsAsCounted(t *testing.T) {
	t.Parallel()
	type id struct {
		key   string
		start int64
		late  bool
	}
	merge := func(all map[id]span, o span, late bool) {
		i := id{o.Key, o.Start, late}
		if b, ok := all[i]; ok {
			o.Count, o.Sum, o.Min, o.Max = o.Count+b.Count, o.Sum+b.Sum, min(o.Min, b.Min), max(o.Max, b.Max)
		}
		all[i] = o
	}
	for seed := range uint64(60) {
		chance := rand.New(rand.NewPCG(seed, 0))
		size, late := 1+chance.Int64N(20), chance.Int64N(30)
		var f faults
		w := &windows{size: size * 1000, late: late * 1000, by: "k", time: newExpression("time", "", "it.at", &f),
			value: newExpression("value", "", "it.v", &f)}
		must.Succeed(t, f.err())
		if at, err := w.when(map[string]any{"at": -0.0005}); err != nil || at != -1 {
			t.Fatalf("half a millisecond before the epoch is at %d ms, %v; want the millisecond before", at, err)
		}
		want, got, newest := map[id]span{}, map[id]span{}, int64(oldest)
		var state []byte
		over := func(o span) bool { return o.Start+w.size+w.late <= newest }
		put := func(o span, late bool) error {
			if _, again := got[id{o.Key, o.Start, late}]; again && !late {
				t.Fatalf("seed %d: window %+v is put out twice", seed, o)
			}
			merge(got, o, late)
			return nil
		}
		for n := int64(0); n < 200; {
			var in [][]byte
			for range 1 + chance.IntN(8) {
				at, v, key := n+chance.Int64N(60)-30, chance.Int64N(100), string(rune('a'+chance.IntN(3)))
				n++
				in = append(in, fmt.Appendf(nil, `{"k":%q,"at":%d,"v":%d}`, key, at, v))
				one := span{(at - (at%size+size)%size) * 1000, key, 1, float64(v), float64(v), float64(v)}
				merge(want, one, over(one))
				newest = max(newest, at*1000)
			}
			var err error
			state, err = w.take(t.Context(), state, in, put)
			must.Succeed(t, err)
			for i, o := range want { // what is over was put out
				if _, out := got[i]; out != (i.late || over(o)) {
					t.Fatalf("seed %d: window %+v, late %v: put out %v, and the newest segment is of %d", seed, o,
						i.late, out, newest)
				}
			}
		}
		must.Succeed(t, w.end(state, put))
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\ngot  %v\nwant %v", seed, got, want)
		}
	}
}
