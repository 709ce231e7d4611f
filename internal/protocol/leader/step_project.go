package leader

import "github.com/rota-run/rota/cluster"

// writesAtOnce is how many documents are written at a time.
const writesAtOnce = 64

// project brings the documents in line with the value: of a member its assignments first, and then its head, which says
// that they count.
func (s *step) project() {
	for k, t := range s.rule.dirty.Each {
		if doc, ready := s.shown(t); ready && s.bring(t, doc) {
			s.rule.dirty.remove(k)
		}
		if len(s.busy) >= writesAtOnce {
			break
		}
	}
	s.answerPlans()
}

// shown is the document of a target as the value has it, nil for none. Not ready: something else must be written before
// it.
func (s *step) shown(t target) (doc any, ready bool) {
	switch {
	case t.task != "":
		if _, in := s.taskOf(t); !in {
			return nil, true
		}
		return s.slotOf(t), true
	case t.member != "":
		return s.headOf(t)
	}
	return s.rosterOf(), true
}

// taskOf is a task of a member as its head tells of it, without the place of its assignment; false where the member
// does not have it.
func (s *step) taskOf(t target) (taskDoc, bool) {
	p, _ := s.fold.Value.Partition(t.task)
	state, token := stateOf(t.member, p)
	m, in := s.fold.Value.Member(t.member)
	return taskDoc{Task: t.task, Token: token, State: state, Attempt: p.Attempts}, in &&
		m.State != cluster.MemberHeld && state.assigned()
}

// slotOf is the assignment of a task to a member.
func (s *step) slotOf(t target) slotDoc {
	v := s.fold.Value
	p, _ := v.Partition(t.task)
	_, token := stateOf(t.member, p)
	p.Message, p.Deaths, p.Step, p.Cursor, p.ChangedMS = "", 0, 0, nil, 0 // they change without it
	id, task, _ := p.ID.Split()
	j, spec := cluster.Job{ID: id}, cluster.JobSpec{Tasks: []cluster.TaskSpec{{Name: task, Type: "gone"}}} // it has ended, and its task has yet to stop
	if of, ok := v.Job(id); ok {
		if t, ok := of.Task(task); ok {
			j.SpecIndex, spec.Source, spec.Tasks[0] = of.SpecIndex, of.Spec.Source, *t
		}
	}
	j.Spec = &spec
	return slotDoc{Format: docFormat, Member: t.member, Task: t.task, Token: token, Index: v.Index(), Term: s.rule.term,
		Partition: p, Job: j}
}

// headOf is the head of a member. One that is created has offers only, whatever the value says: so a late write of a
// former leader, to a document that was removed since, starts nothing. It waits for the assignments of the member, but
// not for all of many.
func (s *step) headOf(t target) (doc any, ready bool) {
	v := s.fold.Value
	m, in := v.Member(t.member)
	if !in || m.State == cluster.MemberHeld {
		return nil, true
	}
	at, there := s.rule.docs.Get(t.key())
	have, _ := at.is.(headDoc)
	if !s.clean(t.member) && at.told < writesAtOnce+len(have.Tasks)/8 {
		return nil, false
	}
	want := headDoc{
		Format: docFormat, Member: m.ID, Incarnation: m.Incarnation, Heartbeat: m.Heartbeat, State: m.State.String(),
		Revoked: m.Revoked, Term: s.rule.term,
		Index: max(v.Index(), have.Index), // whatever was written there by hand: members believe no lower one
	}
	if m.Draining {
		want.State = "draining"
	}
	for _, k := range s.rule.docs.below(folder(m.ID)) {
		e, has := s.taskOf(k.target)
		of, _ := k.is.(stamp)
		switch {
		case !has || e.Token != of.token || k.unsure && k.version == "":
			continue
		case k.unsure: // it is being written again: it may be either
			return nil, false
		case !there:
			e.State = slotAcking
		}
		e.Index = k.index
		want.Tasks = append(want.Tasks, e)
	}
	return want, true
}

// clean reports whether all assignments of a member are written.
func (s *step) clean(m cluster.MemberID) bool {
	for range s.rule.dirty.below(target{member: m}.slots()) {
		return false
	}
	return true
}

// rosterOf lists the members of the cluster.
func (s *step) rosterOf() rosterDoc {
	v := &s.fold.Value
	l, _ := v.Leader()
	r := rosterDoc{Format: docFormat, Term: l.Term, Index: v.Index(), Leader: l.Member, SinceMS: l.SinceMS,
		Settings: v.Settings()}
	for m := range v.Members() {
		m.Changed = 0 // by work, and not by what others must know
		r.Members = append(r.Members, m)
	}
	return r
}
