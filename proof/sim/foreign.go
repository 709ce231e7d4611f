package sim

import (
	"slices"

	"github.com/rota-run/rota/cluster"
)

// poison appends an entry that no member can have written: its writer has applied another history. It must do nothing,
// and end nobody.
func (w *world) poison() {
	ref := w.oracle.ref
	for j := range ref.Jobs() {
		e := cluster.Entry{Writer: poisoner, Seq: uint64(ref.Index()) + 1, BaseIndex: ref.Index(),
			BaseChain: ref.Chain() + 1,
			Commands:  []cluster.Command{cluster.KillJob{Job: j.ID}}}
		w.disk.write(e)
		return
	}
}

// poisoner writes what must be refused.
const poisoner = "poisoner"

// impostor appends one command alone that somebody writes who has no right to.
func (w *world) impostor(r chance) {
	ref := w.oracle.ref
	parts := slices.Collect(ref.Partitions())
	if len(parts) == 0 {
		return
	}
	p := pick(r, parts)
	job, _, key := p.ID.Split()
	j, _ := ref.Job(job)
	stale := max(p.Token, 2) - 1
	var c cluster.Command
	switch r.IntN(5) {
	case 0:
		for _, q := range parts { // of a failure that is counted already
			if q.Attempts > 0 && q.Owner != "" {
				p = q
			}
		}
		c = cluster.FinishPartition{Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeFailed,
			Attempt: max(p.Attempts, 1) - 1, Message: "said again"}
	case 1:
		c = cluster.SplitPartition{Partition: p.ID, Token: stale,
			Children: []cluster.Child{{Key: key + "z", Parents: []string{key}}}}
	case 2:
		c = cluster.KillJob{Job: "nobody-knows-it", By: p.ID, ByToken: stale}
		if j.Spec != nil {
			c = cluster.SubmitJob{Job: j.ID, Spec: *j.Spec, By: p.ID, ByToken: stale}
		}
	case 3:
		if j.Spec == nil {
			return
		}
		spec := *j.Spec
		spec.Source = "another"
		c = cluster.UpdateJob{Job: j.ID, Spec: spec}
	}
	if c == nil { // who has lost the partitioner, or has missed a step of it
		for _, q := range parts {
			if q.Step > 0 {
				p = q
			}
		}
		a := cluster.AdvanceWindow{Partition: p.ID, Token: max(p.Token, 1) - 1, Step: p.Step, Cursor: []byte("x")}
		if p.Step > 0 && r.oneIn(2) {
			a.Token, a.Step = p.Token, p.Step-1
		}
		c = a
	}
	e := cluster.Entry{Writer: "impostor", Seq: uint64(ref.Index()) + 1, BaseIndex: ref.Index(), BaseChain: ref.Chain(),
		Commands: []cluster.Command{c}}
	w.disk.write(e)
}

// announce lets a member end for a restart: in its place an operator's tool writes that its grants are to be held.
func (w *world) announce() bool {
	p := w.anyProcess(func(p *process) bool { return p.joined() })
	if p == nil {
		return false
	}
	m, ok := w.oracle.ref.Member(p.name)
	if !ok {
		return false
	}
	p.die()
	p.guard.endPrograms() // all that it ran has ended when it is said
	return w.client.propose("hold", cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "restarts",
		Hold: true})
}
