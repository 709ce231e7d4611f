package duty

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// log applies entries to a value.
type log struct {
	v   cluster.Value
	seq uint64
}

func (l *log) enter(commands ...cluster.Command) {
	l.seq++
	l.v, _ = l.v.Apply(cluster.Entry{Index: l.v.Index() + 1, Writer: "w", Seq: l.seq, Commands: commands})
}

// settle accepts those who join.
func (l *log) settle() {
	for m := range l.v.Members() {
		for by := range l.v.Members() {
			if m.State == cluster.MemberPrepared && by.State == cluster.MemberJoined {
				l.enter(cluster.AcceptJoin{Member: m.ID, Incarnation: m.Incarnation, By: by.ID,
					ByIncarnation: by.Incarnation})
			}
		}
	}
}

// What a member derives from what entries have changed is what it derives from the whole value.
func TestDerivedFollowsTheValue(t *testing.T) {
	t.Parallel()
	members := []cluster.MemberID{"a", "b", "c"}
	grants, kept := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		l := &log{}
		l.enter(cluster.PrepareJoin{Member: "a", Heartbeat: "p"})
		l.enter(cluster.PrepareJoin{Member: "b", Heartbeat: "p"})
		l.settle()
		followed := make([]Derived, len(members))
		for range rapid.IntRange(1, 40).Draw(rt, "entries") {
			l.enter(commands(rt, l.v)...)
			l.settle()
			for n, m := range members {
				if rapid.IntRange(0, 3).Draw(rt, "skip") == 0 {
					continue // it looks again after more entries
				}
				before := followed[n]
				followed[n] = before.At(l.v, m)
				want := Derived{}.At(l.v, m)
				if got := followed[n]; !slices.Equal(got.Duties, want.Duties) {
					rt.Fatalf("duties of %s: %v, want %v", m, got.Duties, want.Duties)
				} else if !slices.EqualFunc(got.Grants, want.Grants, sameGrant) {
					rt.Fatalf("grants of %s: %v, want %v", m, got.Grants, want.Grants)
				}
				grants += len(want.Grants)
				kept += len(want.Grants) * min(1, len(before.Grants))
			}
		}
	})
	if grants == 0 || kept == 0 {
		t.Errorf("%d grants were seen, %d after earlier ones: the test shows nothing", grants, kept)
	}
}

func sameGrant(a, b *protocol.Grant) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }

// commands change who runs what, and what.
func commands(t *rapid.T, v cluster.Value) (all []cluster.Command) {
	for range rapid.IntRange(1, 3).Draw(t, "commands") {
		all = append(all, command(t, v))
	}
	return all
}

func command(t *rapid.T, v cluster.Value) cluster.Command {
	job := cluster.JobID(fmt.Sprint("j", rapid.IntRange(0, 4).Draw(t, "job")))
	member, _ := v.Member(rapid.SampledFrom([]cluster.MemberID{"a", "b", "c"}).Draw(t, "member"))
	definition := rapid.SampledFrom([]string{"{}", `{"a":1}`}).Draw(t, "definition")
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Definition: []byte(definition)}}}
	switch rapid.IntRange(0, 7).Draw(t, "command") {
	case 0:
		return cluster.UpdateJob{Job: job, Spec: spec}
	case 1:
		return cluster.KillJob{Job: job}
	case 2:
		return cluster.LeaveCluster{Member: member.ID, Incarnation: member.Incarnation, Reason: "gone"}
	case 3:
		return cluster.PrepareJoin{Member: rapid.SampledFrom([]cluster.MemberID{"a", "b", "c"}).Draw(t, "joiner"),
			Replaces: member.Incarnation, Heartbeat: "p"}
	case 4, 5:
		for p := range v.Partitions() {
			if p.Owner == member.ID {
				if rapid.Bool().Draw(t, "fails") {
					return cluster.FinishPartition{Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeFailed,
						Attempt: p.Attempts, Message: "no"}
				}
				return cluster.Stopped{Partition: p.ID, Token: p.Token}
			}
		}
	}
	return cluster.SubmitJob{Job: job, Spec: spec}
}

// Each held member is released when its own time is over, counted from when it was first seen held.
func TestEachHoldHasItsTime(t *testing.T) {
	t.Parallel()
	members := []cluster.Member{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	var holds Holds
	for _, c := range []struct {
		at    time.Duration
		holds int
		want  []cluster.MemberID
	}{
		{1 * time.Second, 1, nil}, {40 * time.Second, 2, nil}, {60 * time.Second, 0, nil},
		{61 * time.Second, 0, []cluster.MemberID{"b"}}, {99 * time.Second, 0, []cluster.MemberID{"b"}},
		{100 * time.Second, 0, []cluster.MemberID{"b", "c"}},
	} {
		if c.holds > 0 {
			members[c.holds].State = cluster.MemberHeld
		}
		var got []cluster.MemberID
		var commands []cluster.Command
		commands, holds = holds.Release(slices.Values(members), protocol.Instant(c.at), time.Minute)
		for _, command := range commands {
			got = append(got, command.(cluster.ReleaseHold).Member)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("after %s it releases %v, not %v", c.at, got, c.want)
		}
	}
}
