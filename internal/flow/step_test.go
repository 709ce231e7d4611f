package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestStep: what a worker does next, by what it was answered.
func TestStep(t *testing.T) {
	t.Parallel()
	fresh, one := Looked{Drained: []bool{false, false}}, Looked{Drained: []bool{true, false}}
	both := Looked{Drained: []bool{true, true}}
	held := Looked{Drained: []bool{false, false}, Held: true}
	none, some := Received{}, Received{Some: true}
	for name, c := range map[string]struct {
		p      Params
		events []Event
		want   string
	}{
		"shards in turn, after work too": {Params{In: 2}, []Event{fresh, none, some, Done{}, some, Done{}},
			"look receive0 receive1 work1 receive0 work0 receive1"},
		"a shard is drained for good": {Params{In: 2}, []Event{one, some, Done{}, some, Failed{}, Done{}, fresh},
			"look receive1 work1 receive1 work1 pause look receive1"},
		"idle after each open shard had nothing": {Params{In: 2}, []Event{one, none, one, Done{}},
			"look receive1 look pause receive1"},
		"what failed is followed by a look": {Params{In: 2}, []Event{fresh, Failed{}, Done{}},
			"look receive0 pause look"},
		"who is held back looks again": {Params{In: 2}, []Event{held, Done{}, fresh}, "look pause look receive0"},
		"complete is complete, held back or not": {Params{In: 2},
			[]Event{Looked{Drained: []bool{true, true}, Complete: true, Held: true}},
			"look end"},
		"a busy worker looks": {Params{In: 1, LookAfter: 2},
			[]Event{Looked{Drained: []bool{false}}, some, Done{}, some, Done{}},
			"look receive0 work0 receive0 work0 look"},
		"work counts from the last look": {Params{In: 1, LookAfter: 2},
			[]Event{Looked{Drained: []bool{false}}, some, Done{}, none, Looked{Drained: []bool{false}}, Done{}, some,
				Done{}},
			"look receive0 work0 receive0 look pause receive0 work0 receive0"},
		"work ends the row of shards that had nothing": {Params{In: 2}, []Event{fresh, none, some, Done{}, none},
			"look receive0 receive1 work1 receive0 receive1"},
		"all outputs, the sink, the end": {Params{In: 2, Out: 2, Sink: true},
			[]Event{both, Done{}, Done{}, Done{}, Done{}},
			"look seal0 seal1 close complete end"},
		"a sink without outputs": {Params{In: 2, Sink: true}, []Event{both, Done{}, Done{}}, "look close complete end"},
	} {
		s, e := NewState(c.p)
		got := []string{show(e)}
		for _, ev := range c.events {
			s, e = Step(s, ev)
			got = append(got, show(e))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), c.want)
		}
	}
}

func show(e Effect) string {
	switch e.Do {
	case Receive:
		return fmt.Sprint("receive", e.Shard)
	case Work:
		return fmt.Sprint("work", e.Shard)
	case Seal:
		return fmt.Sprint("seal", e.Shard)
	}
	return map[Do]string{Look: "look", Pause: "pause", Close: "close", Complete: "complete", End: "end"}[e.Do]
}

// TestHoldAndFate: an edge is full where somebody takes from it; a message is worked on together, then one by one,
// then given up.
func TestHoldAndFate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pending, bound uint64
		consumers      int
		want           bool
	}{{5, 0, 1, false}, {4, 5, 1, false}, {5, 5, 1, true}, {9, 5, 0, false}} {
		if Hold(c.pending, c.bound, c.consumers) != c.want {
			t.Errorf("Hold(%d, %d, %d) is not %t", c.pending, c.bound, c.consumers, c.want)
		}
	}
	for _, c := range []struct {
		delivered, attempts int
		want                Fate
	}{{9, 0, Together}, {3, 3, Together}, {4, 3, OneByOne}, {9, 3, OneByOne}, {10, 3, Dead}, {4, 1, Dead}} {
		if got := FateOf(c.delivered, c.attempts); got != c.want {
			t.Errorf("FateOf(%d, %d) = %d, want %d", c.delivered, c.attempts, got, c.want)
		}
	}
}

// TestGraph: what a flow has shards for, where a key goes for ever, and what is refused.
func TestGraph(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][2]int{"": {146, 4}, "a": {70, 6}, "key": {118, 2}, "é": {0, 4}} {
		if got := [2]int{ShardOf(key, 256), ShardOf(key, 7)}; got != want {
			t.Errorf("key %q goes to %v, want %v: members of other versions send it there", key, got, want)
		}
	}
	load, sum := Task{Name: "load", Chains: 2}, Task{Name: "sum", Keyed: true}
	edge := Edge{From: "load", To: "sum", Shards: 2, By: "k"}
	g := Graph{Tasks: []Task{load, sum}, Edges: []Edge{edge}}
	want := []Shard{{"chain/load", 0}, {"chain/load", 1}, {"dead/load", 0}, {"end/load", 0},
		{"edge/load/sum", 0}, {"edge/load/sum", 1}, {"chain/sum", 0}, {"chain/sum", 1}, {"dead/sum", 0}, {"end/sum", 0}}
	if got := g.Shards(); !slices.Equal(got, want) || g.Check() != nil {
		t.Errorf("shards %v, want %v; %v", got, want, g.Check())
	}
	with := func(e Edge, change func(*Edge)) Edge { change(&e); return e }
	for want, g := range map[string]Graph{
		`two tasks are named "load"`: {Tasks: []Task{load, {Name: "load", Chains: 1}}},
		"reads in 0 parts":           {Tasks: []Task{{Name: "load"}}},
		"two edges lead from":        {Tasks: g.Tasks, Edges: []Edge{edge, with(edge, func(e *Edge) { e.By = "other" })}},
		"leads nowhere":              {Tasks: []Task{load}, Edges: []Edge{edge}},
		"to itself":                  {Tasks: []Task{load}, Edges: []Edge{with(edge, func(e *Edge) { e.To = "load" })}},
		"has 257 shards":             {Tasks: g.Tasks, Edges: []Edge{with(edge, func(e *Edge) { e.Shards = MaxShards + 1 })}},
		"has no key": {Tasks: []Task{load, {Name: "more", Chains: 1}, sum},
			Edges: []Edge{edge, with(edge, func(e *Edge) { e.From, e.By = "more", "" })}},
		"have 2 and 3 shards": {Tasks: []Task{load, {Name: "more", Chains: 1}, sum},
			Edges: []Edge{edge, with(edge, func(e *Edge) { e.From, e.Shards = "more", 3 })}},
	} {
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
