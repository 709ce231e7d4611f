package lease

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
)

// kill ends a process; its guardian, if it has one, removes its heartbeat at once.
func (c *crowd) kill(i int, guarded bool) {
	c.t.Helper()
	c.dead[i].Store(true)
	for _, key := range c.sessions() {
		if !guarded || !strings.HasPrefix(key, nodePrefix+string(nameOf(i))+"/") {
			continue
		}
		d, err := c.docs.Get(context.Background(), key)
		if err == nil {
			err = c.docs.Delete(context.Background(), key, d.Version)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestAKillIsSoon: on a store that hints at nothing and whose calls take 40 ms, as those of a busy one, each round trip
// counts that lies between a death and the claims of others. The leader reads what a removal needs in one request,
// takes its own fence for proved, and tells what is free before it surveys.
func TestAKillIsSoon(t *testing.T) {
	t.Parallel()
	const slow, poll, silence = 40 * time.Millisecond, outageTTL / 20, outageTTL * 1050 / 1000
	for _, c := range []struct {
		who     int
		guarded bool
		most    time.Duration
	}{
		{0, true, poll + 13*slow}, // the leader: another one is needed first
		{2, true, poll + 11*slow},
		{2, false, silence + poll + 2*slow},
	} {
		t.Run(fmt.Sprintf("m%d,guarded=%t", c.who, c.guarded), func(t *testing.T) {
			t.Parallel()
			atRest(t, slow, func(crowd *crowd) {
				from := time.Now()
				crowd.kill(c.who, c.guarded)
				crowd.until("all run again", func() bool { return crowd.running() == 24 })
				if took := time.Since(from); took > c.most {
					t.Errorf("all run %s after it, want at most %s", took, c.most)
				}
			})
		})
	}
}

// TestARemovalAsksOnce: what decides whether a member is removed is read in one request, its heartbeat too.
func TestARemovalAsksOnce(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	b, beat := p.join("b/1"), nodeKey("b/1")
	p.fence("b/1")
	a := attempt{command: cluster.LeaveCluster{Member: "b", Incarnation: b}, also: []string{beat}, proved: beat}.begin()
	a = a.read(p.get(a.ask...))
	if a = a.decide(learn(a.docs), writer{session: "a/1", write: "w"}); a.ask != nil || a.put.Key != keyNodes {
		t.Errorf("it asks for %q, and writes %q: want the Node List alone", a.ask, a.put.Key)
	}
}
