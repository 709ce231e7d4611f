package node

import (
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// tenant is a member whose tenure and value a test gives.
type tenant struct {
	protocol.Member
	inc   cluster.Incarnation
	value cluster.Value
}

func (m *tenant) Tenure() (cluster.Incarnation, protocol.Instant) { return m.inc, 1 }

func (m *tenant) Value() cluster.Value { return m.value }

// TestAConfirmedMemberPublishes: a member that was confirmed under another heartbeat has another incarnation, and its copies of sources count under that one. Found by
// chaos on a full disk: it published no inventory any more, and no task whose file was gone ended.
func TestAConfirmedMemberPublishes(t *testing.T) {
	m := &tenant{inc: 1}
	s := &sources{n: &Node{c: Config{Member: "a"}, member: m}, joined: make(chan struct{})}
	say := func(index cluster.Index, c cluster.Command) {
		m.value, _ = m.value.Apply(cluster.Entry{Index: index, Writer: "w", Seq: uint64(index), Commands: []cluster.Command{c}})
	}
	say(1, cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/0"})
	s.admitted()
	if inc, ok := s.present(); inc != 1 || !ok {
		t.Fatalf("got %d, %t", inc, ok)
	}
	say(2, cluster.ConfirmMember{Member: "a", Incarnation: 1, Heartbeat: "pulse/a/1"})
	m.inc = 0
	if _, ok := s.present(); ok {
		t.Error("it publishes before it knows that it was confirmed")
	}
	got, _ := m.value.Member("a")
	m.inc = got.Incarnation
	if inc, ok := s.present(); inc != 2 || !ok {
		t.Errorf("got %d, %t; want that it publishes as 2", inc, ok)
	}
}
