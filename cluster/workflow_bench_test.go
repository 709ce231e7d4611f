package cluster

import (
	"fmt"
	"testing"
)

// BenchmarkSlots applies entries to a value with 1,000 members of 10 slots and 1,000 jobs of 10 tasks, all slots given.
func BenchmarkSlots(b *testing.B) {
	v, seq := Value{}, uint64(0)
	write := func(v Value, commands ...Command) Value {
		seq++
		v, did := v.Apply(Entry{Index: v.Index() + 1, Writer: "w", Seq: seq, Commands: commands})
		for i, r := range did.Results {
			if !r.Accepted {
				b.Fatalf("%v: %s", commands[i], r.Reason)
			}
		}
		return v
	}
	join := func(v Value, i int) Value {
		id := fmt.Sprintf("member-%04d", i)
		v = write(v, PrepareJoin{Member: MemberID(id), Slots: 10, Heartbeat: "p"})
		m, _ := v.Member(MemberID(id))
		if m.State == MemberPrepared {
			by, _ := v.Member(v.before(m.ID))
			v = write(v, AcceptJoin{m.ID, m.Incarnation, by.ID, by.Incarnation})
		}
		return v
	}
	for i := range 1000 {
		v = join(v, i)
	}
	var submit []Command
	for j := range 1000 {
		c := SubmitJob{Job: JobID(fmt.Sprintf("job-%04d", j))}
		for t := range 10 {
			c.Spec.Tasks = append(c.Spec.Tasks, TaskSpec{Name: fmt.Sprint("t", t), Type: "noop", Spread: SpreadPool})
		}
		submit = append(submit, c)
	}
	b.Run("submit=1000", func(b *testing.B) {
		for b.Loop() {
			write(v, submit...)
		}
	})
	v = write(v, submit...)
	m, _ := v.Member("member-0500")
	b.Run("crash", func(b *testing.B) {
		for b.Loop() {
			write(v, LeaveCluster{Member: m.ID, Incarnation: m.Incarnation})
		}
	})
	b.Run("finish", func(b *testing.B) {
		for b.Loop() {
			slot := v.JobSlots("job-0500")[0].Slots[0]
			p, _ := v.Partition(slotID("job-0500", "t0", slot))
			write(v, FinishPartition{Partition: p.ID, Token: p.Token})
		}
	})
	b.Run("check", func(b *testing.B) { // an ordinary task beside them costs nothing of this
		for b.Loop() {
			write(v, SubmitJob{Job: "check", Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop"}}}})
		}
	})
}
