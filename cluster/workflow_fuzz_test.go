package cluster

import "testing"

// Any bytes are an entry or a snapshot, written again as they were, or are refused; what is read can be applied, with workflows in it.
func FuzzWorkflowBytes(f *testing.F) {
	s := &script{t: f}
	s.ok(PrepareJoin{Member: "a", Slots: 3, Heartbeat: "p"})
	spec := JobSpec{Tasks: []TaskSpec{{Name: "x", Type: "n", Spread: SpreadPool, Max: 2}, {Name: "y", Type: "n", Spread: SpreadPool}}}
	spec.Edges, spec.Coverage = []Edge{{"y", "x"}}, true
	for _, c := range []Command{SubmitJob{Job: "j", Spec: spec}, UpdateJob{Job: "j", Spec: JobSpec{Tasks: spec.Tasks}}, Configure{JobScheduler: "greedy"}, KillJob{Job: "j"}} {
		s.ok(c)
		f.Add(s.v.Snapshot())
		f.Add(Entry{Index: 1, Writer: "w", Seq: 1, Commands: []Command{c}}.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := DecodeSnapshot(data); err == nil {
			if string(v.Snapshot()) != string(data) {
				t.Fatalf("it was %x, and is written as %x", data, v.Snapshot())
			}
			v.Waiting()
		}
		e, err := DecodeEntry(1, data)
		if err != nil {
			return
		}
		if again := AppendEntry(nil, e); string(again) != string(data) {
			t.Fatalf("it was %x, and is written as %x", data, again)
		}
		for _, v := range []Value{{}, s.v} {
			v, _ = v.Apply(Entry{Index: v.Index() + 1, Writer: "z", Seq: 1, Commands: e.Commands})
			if _, err := DecodeSnapshot(v.Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
