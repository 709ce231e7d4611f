package cluster

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
)

// Whatever is said between pauses: what holds after any entry holds, nobody gets anything of a paused job, and in the
// end nobody has any of it.
func TestPausesUnderAnyCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, v := &choices{rapid.SliceOfN(rapid.Byte(), 100, 400).Draw(rt, "story")}, Value{}
		var log [][]byte
		for seq := uint64(1); len(c.data) > 0 && len(log) < 200; seq++ {
			e := Entry{Writer: "w", Seq: seq, AtMS: int64(seq), BaseIndex: v.index, BaseChain: v.chain}
			said := c.anyCommand(v)
			switch c.n(8) {
			case 0:
				said = PauseJob{Job: c.job(), By: "ann"}
			case 1:
				said = ResumeJob{Job: c.job()}
			}
			e.Commands = []Command{said}
			log = append(log, e.Encode())
			old := v
			v = mustFold(rt, v, log[len(log)-1])
			mustRest(rt, old, v)
		}
		mustAgree(rt, v, log, rapid.IntRange(0, len(log)).Draw(rt, "snapshot at"))
		mustReact(rt, v)
	})
}

// mustRest: nobody is granted a partition of a paused job, and its owners must stop.
func mustRest(t interface{ Fatalf(string, ...any) }, old, v Value) {
	for p := range v.Partitions() {
		job, _, _ := p.ID.Split()
		j, ok := v.Job(job)
		if !ok || !j.Paused() {
			continue
		}
		was, _ := old.Partition(p.ID)
		switch {
		case slices.Contains([]PartitionState{PartitionGranted, PartitionAdopting, PartitionHeld, PartitionWaiting},
			p.State) || p.Next != "":
			t.Fatalf("%s is paused, and this is %v", job, p)
		case p.Owner != was.Owner && p.Owner != "":
			t.Fatalf("%s is paused, and %s got %v", job, p.Owner, p)
		}
	}
}

// A pause is in records, in snapshots and in the text of the value, with who asked and when.
func TestAPauseIsKept(t *testing.T) {
	t.Parallel()
	s := &script{t: t}
	s.ok(SubmitJob{Job: "x", Spec: JobSpec{Tasks: []TaskSpec{{Type: "t"}}}})
	s.ok(PauseJob{Job: "x", By: "ann@laptop"})
	s.ok(PauseJob{Job: "x", By: "bob"}) // the first one counts
	v := must.Get(DecodeSnapshot(s.v.Snapshot()))(t)
	j, _ := v.Job("x")
	if alone, err := DecodeJob(j.Encode()); err != nil || j.PausedBy != "ann@laptop" || alone.PausedBy != j.PausedBy ||
		alone.PausedMS != j.PausedMS {
		t.Errorf("in a snapshot %+v, alone %+v, %v", j, alone, err)
	}
	if r := v.Why("x"); r.Rule != "paused" || r.Text != "paused by ann@laptop" || r.Try != "rota job resume x" {
		t.Errorf("why: %+v", r)
	}
	s.ok(UpdateJob{Job: "x", Spec: JobSpec{Tasks: []TaskSpec{{Type: "t", Definition: []byte("{}")}}}})
	if j, _ = s.v.Job("x"); !j.Paused() {
		t.Error("another definition has ended the pause")
	}
	s.ok(KillJob{Job: "x"})
	if j, _ = s.v.Job("x"); j.Paused() {
		t.Error("it has ended, and is paused")
	}
}

// Where members claim, a settled value has nothing of a paused job to claim, and comes to rest.
func TestAPauseWhereMembersClaim(t *testing.T) {
	t.Parallel()
	v := claimed(t, "x", "y")
	v, _ = v.Settle(9, 0, Pending{})
	v, _ = v.Do(5, 0, Claim{"x", 0, "a", 1})
	for _, job := range []JobID{"x", "y"} {
		var r Result
		if v, r = v.Do(6, 0, PauseJob{Job: job, By: "ann"}); !r.Accepted {
			t.Fatal(r.Reason)
		}
	}
	if _, r := v.Do(7, 0, Claim{"y", 0, "b", 2}); r.Accepted {
		t.Error("y was claimed while its job is paused")
	}
	v, free := v.Settle(9, 0, Pending{})
	if p, _ := v.Partition("x"); len(free) != 0 || p.State != PartitionReleasing {
		t.Errorf("free: %v\n%v", free, v)
	}
	if again, _ := v.Settle(10, 0, Pending{}); len(Changes(v, again)) > 0 {
		t.Errorf("once more:\n%v", again)
	}
	p, _ := v.Partition("x")
	v, _ = v.Do(p.Token, 0, Stopped{"x", p.Token})
	if v, free = v.Settle(11, 0, Pending{}); len(free) != 0 {
		t.Errorf("free: %v\n%v", free, v)
	}
	v, _ = v.Do(12, 0, ResumeJob{Job: "x"})
	v, _ = v.Do(13, 0, ResumeJob{Job: "y"})
	if v, free = v.Settle(14, 0, Pending{}); len(free) != 2 {
		t.Errorf("resumed, free: %v\n%v", free, v)
	}
}
