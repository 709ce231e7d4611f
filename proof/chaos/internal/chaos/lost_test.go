package chaos

import (
	"reflect"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/history"
)

// TestLost: a gap counts under the event after which it began, also where it goes on after another one.
func TestLost(t *testing.T) {
	t.Parallel()
	const s = int64(time.Second)
	gap := func(from, to int64) history.Span { return history.Span{Partition: "x", From: from * s, To: to * s} }
	r := newReport(Options{})
	r.Events = 60
	r.marks = []mark{{10 * s, "kill"}, {20 * s, "server-away"}, {30 * s, "suspend-long"}, {40 * s, "kill"},
		{50 * s, atEnd}}
	r.lose(history.Report{
		Wanted: 100 * time.Second, // of two tasks
		Silences: []history.Silence{
			{Span: gap(0, 1)},
			{Span: gap(12, 13)}, {Span: gap(40, 42), Helpless: time.Second},
			{Span: gap(28, 32), Helpless: 3 * time.Second},
			{Span: gap(34, 39), Asleep: 3 * time.Second}, {Span: gap(35, 36), Asleep: time.Second},
		},
	}, 50*time.Second)
	want := map[string]*lost{
		atBegin:        {Seconds: 1, Slow: 1},
		"kill":         {Seconds: 3, Impossible: 1, Slow: 2},
		"server-away":  {Seconds: 4, Impossible: 3, Slow: 1},
		inAll:          {Seconds: 14, Impossible: 4, Promised: 4, Slow: 6},
		"suspend-long": {Seconds: 6, Promised: 4, Slow: 2},
	}
	if !reflect.DeepEqual(r.Lost, want) {
		for k, l := range r.Lost {
			t.Errorf("%s: %+v, want %+v", k, l, want[k])
		}
	}
	// In all 14 of 100 s are lost. In 8 of them it could not be otherwise, and 6 are slow: for each event, each of the
	// two tasks lost 50 ms.
	if r.Owned != 0.86 || r.SlowMS != 50 || r.OwnedPossible != 0.9 {
		t.Errorf("owned %v, slow %v ms, of what is possible %v", r.Owned, r.SlowMS, r.OwnedPossible)
	}
}
