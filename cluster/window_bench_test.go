package cluster

import (
	"fmt"
	"testing"
)

// BenchmarkWindow puts items through a window of 256 on ten members: listed 64 at a time, finished one by one, taken out 64 at a time; alone, and beside
// 100,000 partitions of other tasks.
func BenchmarkWindow(b *testing.B) {
	for _, others := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("beside=%d", others), func(b *testing.B) {
			w := newWindowBench(b, others)
			for b.Loop() {
				w.item()
			}
			b.ReportMetric(float64(len(w.v.Snapshot())), "snapshot-B")
		})
	}
}

type windowBench struct {
	b       testing.TB
	v       Value
	seq     uint64
	listed  int
	running []PartitionID
	done    []string
}

func (w *windowBench) do(commands ...Command) {
	w.seq++
	v, did := w.v.Apply(Entry{Index: w.v.Index() + 1, Writer: "w", Seq: w.seq, Commands: commands})
	for i, r := range did.Results {
		if !r.Accepted {
			w.b.Fatalf("%v: %s", commands[i], r.Reason)
		}
	}
	w.v = v
}

func newWindowBench(b testing.TB, others int) *windowBench {
	w := &windowBench{b: b}
	for i := range 10 {
		id := MemberID(fmt.Sprintf("m%02d", i))
		w.do(PrepareJoin{Member: id, Heartbeat: "p"})
		if m, _ := w.v.Member(id); m.State == MemberPrepared {
			by, _ := w.v.Member(w.v.before(id))
			w.do(AcceptJoin{id, m.Incarnation, by.ID, by.Incarnation})
		}
	}
	if others > 0 {
		t := TaskSpec{Type: "x", Spread: SpreadPartitioned}
		for i := range others {
			t.Partitions = append(t.Partitions, fmt.Sprintf("k%06d", i))
		}
		w.do(SubmitJob{Job: "others", Spec: JobSpec{Tasks: []TaskSpec{t}}})
	}
	w.do(SubmitJob{Job: "j", Spec: JobSpec{Tasks: []TaskSpec{{Type: "x", Spread: SpreadPartitioned, Partitions: []string{"list"}}}}})
	return w
}

// item finishes one item, and lets the partitioner take a step where one is due.
func (w *windowBench) item() {
	if len(w.running) <= 192 {
		w.step()
	}
	id := w.running[0]
	w.running = w.running[1:]
	p, _ := w.v.Partition(id)
	w.do(FinishPartition{Partition: id, Token: p.Token})
	_, _, key := id.Split()
	w.done = append(w.done, key)
}

func (w *windowBench) step() {
	p, _ := w.v.Partition("j#list")
	c := AdvanceWindow{Partition: p.ID, Token: p.Token, Step: p.Step, Cursor: fmt.Appendf(nil, "%09d", w.listed), Done: w.done}
	for len(w.running)+len(c.Items) < 256 {
		w.listed++
		c.Items = append(c.Items, Item{Key: fmt.Sprintf("bucket/%09d.gz", w.listed), Input: []byte("etag")})
	}
	w.do(c)
	for _, it := range c.Items {
		w.running = append(w.running, NewPartitionID("j", "", it.Key))
	}
	w.done = nil
}
