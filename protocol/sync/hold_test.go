package sync

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// TestEachHoldHasItsTime: members that one epoch has joined have one incarnation. When one of them is released, another one whose restart was announced later
// is not.
func TestEachHoldHasItsTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.state.Hold = time.Minute
	e := r.epoch(1, map[cluster.MemberID]string{"a": "m1", "b": "m2"})
	e.Members = append(e.Members, cluster.EpochMember{Join: cluster.PrepareJoin{Member: "c", Heartbeat: heartbeatOf("m3")}})
	r.write(2000, e)
	for _, c := range []struct {
		at    time.Duration
		holds cluster.MemberID
		want  []cluster.MemberID
	}{
		{1 * time.Second, "b", nil}, {40 * time.Second, "c", nil}, {60 * time.Second, "", nil},
		{61 * time.Second, "", []cluster.MemberID{"b"}}, {99 * time.Second, "", []cluster.MemberID{"b"}}, {100 * time.Second, "", []cluster.MemberID{"b", "c"}},
	} {
		if m, ok := r.value.Member(c.holds); ok && !r.write(3000, cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Hold: true}) {
			t.Fatalf("%s is not held", m.ID)
		}
		r.read(protocol.Instant(c.at))
		s := &step{State: r.state}
		s.At = protocol.Instant(c.at)
		var got []cluster.MemberID
		for _, command := range s.releases() {
			got = append(got, command.(cluster.ReleaseHold).Member)
		}
		if r.state = s.State; !slices.Equal(got, c.want) {
			t.Errorf("after %s it releases %v, not %v", c.at, got, c.want)
		}
	}
}
