package node

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
	flows "github.com/rota-run/rota/work/stage"
)

// swelling is a flow whose stage makes large segments: size says how large, by the number of a segment.
func swelling(t *testing.T, size func(n int) int) *flowRun {
	f := &flowRun{t: t, server: memory.New(), got: &arrivals{seen: map[string]int{}}, chance: rand.New(rand.NewPCG(1, 0))}
	task := func(name, kind, from string) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: kind, Spread: cluster.SpreadPool, Definition: []byte(`{"from":[` + from + `],"retry":{"min_ms":10,"max_ms":100}}`)}
	}
	f.spec.Tasks = []cluster.TaskSpec{task("s1", "source", ""), task("b", "swell", `{"task":"s1"}`), task("out", "sink", `{"task":"b"}`)}
	f.spec.Edges = []cluster.Edge{{From: "s1", To: "b"}, {From: "b", To: "out"}}
	f.types = flowTypes(f.got)
	f.types["swell"] = stageType("swell", flows.Stage{Do: func(_ context.Context, _ *work.Grant, in [][]byte, out *flows.Out) error {
		for _, s := range in {
			var n int
			_, _ = fmt.Sscanf(string(s), "s1/%d", &n)                              // it is so
			_ = out.Send(append(append(s, ' '), bytes.Repeat(s, size(n))...), nil) // its error fails the batch by itself
		}
		return nil
	}})
	f.member("m", 4)
	f.stores[0].chance = nil // the store is sound
	f.submit("bad")
	return f
}

// through is how many segments came through b, and its dead letters.
func (f *flowRun) through() (out uint64, dead []flows.Letter) {
	f.t.Helper()
	view := f.server.Open()
	defer view.Close()
	j, _ := f.nodes[0].Value().Job("bad")
	d, err := view.Depth(f.t.Context(), work.FlowName(&j), store.Shard{Edge: "edge/b/out"})
	if err != nil {
		f.t.Fatal(err)
	}
	all, err := view.Receive(f.t.Context(), work.FlowName(&j), store.Receive{Shard: store.Shard{Edge: "dead/b"}, Peek: true, Limit: each})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range all {
		l, err := flows.ReadLetter(m.Data)
		if err != nil {
			f.t.Fatal(err)
		}
		dead = append(dead, l)
	}
	return d[0].Segments, dead
}

// A segment that is larger than a queue takes, and segments that are so together, are dead letters that say so; the others go on.
func TestSegmentsThatAreTooLarge(t *testing.T) {
	virtual(t, func(t *testing.T) {
		f := swelling(t, func(n int) int {
			switch {
			case n == 3:
				return flows.MaxOutput / 3 // times the length of its name
			case n >= 7 && n < 14: // a batch
				return flows.MaxOutput / 20
			}
			return 1
		})
		f.finish("bad")
		out, dead := f.through()
		if out+uint64(len(dead)) != each || len(dead) < 3 {
			t.Errorf("%d segments came through, %d are dead, want %d together", out, len(dead), each)
		}
		alone, together := 0, 0
		for _, l := range dead {
			switch {
			case l.Text == "s1/3" && strings.Contains(l.Error, "one batch puts out more than"):
				alone++
			case strings.Contains(l.Error, "put out more than 917504 bytes together: put it back"):
				together++
			default:
				t.Errorf("a dead letter %+v", l)
			}
		}
		if alone != 1 || together == 0 {
			t.Errorf("%d dead letters of the large segment, %d of those that are large together", alone, together)
		}
	})
}

// What a store does not take, whose limits are too small, is dead letters that say so.
func TestQueueThatTakesTooLittle(t *testing.T) {
	virtual(t, func(t *testing.T) {
		f := swelling(t, func(n int) int {
			if n >= 14 && n < 28 { // two full batches
				return 1000
			}
			return 1
		})
		f.stores[0].limit(10_000, fmt.Errorf("40000 bytes of output, at most 10000 (the server's max_payload): %w", store.ErrTooLarge))
		f.finish("bad")
		out, dead := f.through()
		lost := 0
		for _, l := range dead {
			lost += l.Segments
			if !l.Batch || !strings.Contains(l.Error, "the server's max_payload") {
				t.Errorf("a dead letter %+v", l)
			}
		}
		// How many segments a batch has depends on which of the two sides is faster: seven at most.
		if int(out)+lost != each || lost < 14 || lost > 14+2*6 || len(dead) < 2 {
			t.Fatalf("%d segments came through, %d are lost in %d letters, want %d together, and the 14 large ones lost", out, lost, len(dead), each)
		}
	})
}

// A broker without space is waited for: nothing fails, nothing is lost.
func TestBrokerWithoutSpace(t *testing.T) {
	virtual(t, func(t *testing.T) {
		f := swelling(t, func(int) int { return 1000 })
		f.stores[0].limit(10_000, fmt.Errorf("%w: no space left for JetStream", store.ErrUnavailable))
		time.Sleep(3 * time.Minute) // waits: in virtual time
		if out, dead := f.through(); out != 0 || len(dead) > 0 {
			t.Errorf("%d segments came through, %d are dead, want none", out, len(dead))
		}
		if f.stores[0].failed() < 10 {
			t.Errorf("the flow has tried %d times", f.stores[0].failed())
		}
		f.stores[0].limit(0, nil)
		f.finish("bad")
		if out, dead := f.through(); out != each || len(dead) > 0 {
			t.Errorf("%d segments came through, %d are dead, want %d and none", out, len(dead), each)
		}
	})
}
