package duty

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

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
