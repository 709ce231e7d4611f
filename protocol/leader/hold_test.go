package leader

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
)

// Members that one entry has admitted have one incarnation. When one of them is released, another one whose restart was announced later is not.
func TestEachHoldHasItsTime(t *testing.T) {
	t.Parallel()
	var v cluster.Value
	apply := func(commands ...cluster.Command) {
		t.Helper()
		at := v.Index() + 1
		next, done := v.Apply(cluster.Entry{Index: at, Writer: "w", Seq: uint64(at), Commands: commands})
		for _, r := range done.Results {
			if !r.Accepted {
				t.Fatal(r.Reason)
			}
		}
		v = next
	}
	apply(cluster.Lead{Member: "a", Term: 1, OfferMS: 1000}, cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a"}, cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b"}, cluster.PrepareJoin{Member: "c", Heartbeat: "pulse/c"})
	state := NewState(Params{Params: member.Params{Hold: time.Minute}})
	for _, c := range []struct {
		at    time.Duration
		holds cluster.MemberID
		want  []cluster.MemberID
	}{
		{1 * time.Second, "b", nil}, {40 * time.Second, "c", nil}, {60 * time.Second, "", nil},
		{61 * time.Second, "", []cluster.MemberID{"b"}}, {100 * time.Second, "", []cluster.MemberID{"b", "c"}},
	} {
		if m, ok := v.Member(c.holds); ok {
			apply(cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Hold: true})
		}
		s := &step{State: state}
		s.At, s.fold.value = protocol.Instant(c.at), &v
		var got []cluster.MemberID
		for _, command := range s.releases() {
			got = append(got, command.(cluster.ReleaseHold).Member)
		}
		if state = s.State; !slices.Equal(got, c.want) {
			t.Errorf("after %s it releases %v, not %v", c.at, got, c.want)
		}
	}
}
