package sync

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWhatIsRefusedIsNotSaidForEver: a member that wants what everybody refuses fills no log, and holds up nobody.
func TestWhatIsRefusedIsNotSaidForEver(t *testing.T) {
	t.Parallel()
	protocoltest.RefusedOnMemory(t, Protocol{})
}

func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	protocoltest.StoriesOnMemory(t, Protocol{})
}

// TestStorm runs members whose calls fail at random, in every way that a store has.
func TestStorm(t *testing.T) {
	t.Parallel()
	protocoltest.StormsOnMemory(t, Protocol{}, false)
}

// TestABusyStore is a group that cannot take as many heartbeats as the usual TTL asks for.
func TestABusyStore(t *testing.T) {
	t.Parallel()
	protocoltest.Load{Beats: 8, Times: 3}.Busy(t, Protocol{})
}

// TestTimes: silence is noticed in time, and so on. The group alone says who lives, whatever the store tells of
// besides.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{"as etcd, NATS and ZooKeeper": 31.5})
}

// TestACopyIsRead: the log of a cluster was copied to a store without groups. It can be read there, and no member can
// take part.
func TestACopyIsRead(t *testing.T) {
	t.Parallel()
	copied := struct{ store.Full }{memory.New().Open()}
	var p protocol.Protocol = Protocol{}
	c := must.Get(p.Client(copied))(t)
	results, err := c.Propose(t.Context(),
		cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	if err != nil || !results[0].Accepted {
		t.Fatalf("%+v, %v", results, err)
	}
	v, err := p.Observe(t.Context(), copied, cluster.Value{})
	if _, ok := v.Job("x"); err != nil || !ok {
		t.Errorf("the job is there: %t, %v", ok, err)
	}
	if err := p.Fits(copied); err == nil {
		t.Error("a member could take part without a group")
	}
}
