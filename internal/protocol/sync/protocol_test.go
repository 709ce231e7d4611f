package sync

import (
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestACopyIsRead: the log of a cluster was copied to a store without groups. It can be read there, and no member can take part.
func TestACopyIsRead(t *testing.T) {
	t.Parallel()
	copied := struct{ store.Full }{memory.New().Open()}
	var p protocol.Protocol = Protocol{}
	c, err := p.Client(copied)
	must.Succeed(t, err)
	results, err := c.Propose(t.Context(), cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
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
