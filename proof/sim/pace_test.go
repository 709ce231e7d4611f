package sim

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
)

// TestHoldsOfOneEpoch: of two members with one incarnation each has its own time. The first is released in time, the second too early.
func TestHoldsOfOneEpoch(t *testing.T) {
	t.Parallel()
	o := &oracle{w: &world{}, held: map[heldLife]int64{}}
	say := func(at time.Duration, c cluster.Command) {
		e := cluster.Entry{Index: o.ref.Index() + 1, Writer: "w", Seq: uint64(o.ref.Index()) + 1, Commands: []cluster.Command{c}}
		next, done := o.ref.Apply(e)
		if !done.Results[0].Accepted {
			t.Fatalf("%v: %s", c, done.Results[0].Reason)
		}
		o.ref, o.w.now = next, int64(at)
		o.holds(e, done)
	}
	named := func(id cluster.MemberID) cluster.EpochMember {
		return cluster.EpochMember{Join: cluster.PrepareJoin{Member: id, Heartbeat: string(id)}}
	}
	say(0, cluster.Epoch{Start: 1, Generation: 1, Leader: "a", Members: []cluster.EpochMember{named("a"), named("b"), named("c")}})
	say(time.Second, cluster.LeaveCluster{Member: "b", Incarnation: 1, Hold: true})
	say(holdTime-time.Second, cluster.LeaveCluster{Member: "c", Incarnation: 1, Hold: true})
	say(holdTime+time.Second, cluster.ReleaseHold{Member: "b", Incarnation: 1})
	if o.violation != nil {
		t.Errorf("its time was over: %v", o.violation)
	}
	say(holdTime+2*time.Second, cluster.ReleaseHold{Member: "c", Incarnation: 1})
	if o.violation == nil {
		t.Error("it was released three seconds after it had left")
	}
}
