package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// ofLeader are the flaws of the protocol leader that are noticed. docs/internals/track-record.md names those that are not yet.
func ofLeader() []flaw.Flaw {
	const holds = "internal/protocol/duty/holds.go"
	const slots, life, decide = "internal/protocol/leader/step_slots.go", "internal/protocol/leader/step_life.go", "internal/protocol/leader/step_decide.go"
	const project, kept, light = "internal/protocol/leader/step_project.go", "internal/protocol/leader/step_kept.go", "internal/protocol/leader/step_slots.go"
	const docs, elect = "internal/protocol/leader/step_docs.go", "internal/protocol/leader/step_elect.go"
	return []flaw.Flaw{
		flaw.New("a member starts before its ack is accepted", light,
			"h.Token, \"\", 0, h.State == slotAcking\n", "h.Token, \"\", 0, false\n"),
		flaw.New("a member runs what is taken from it", light,
			"	if h.State == slotSealing {\n", "	if h.State == slotIdle {\n"),
		flaw.New("a member says stopped while it runs", "internal/protocol/duty/step.go",
			"case d.Role == cluster.RoleStop && (r == nil || ended):", "case d.Role == cluster.RoleStop:"),
		flaw.New("no offer is accepted", slots,
			"		if h.State == slotAcking {\n", "		if h.State == slotAcking && s.Is == member.PhaseLeaving {\n"),
		flaw.New("another process's name is taken over", life,
			"if o := s.claims.Of(heartbeat); !s.Dead(o) {", "if o := s.claims.Of(heartbeat); !s.Dead(o) && o.Gone() {"),
		flaw.New("a removed member does not join again", "internal/protocol/member/walk.go",
			"		w.Again()\n\t\tc.Is = PhaseNaming\n", "		w.Again()\n"),
		flaw.New("a lost member is kept", decide,
			"m.State == cluster.MemberHeld || !s.Dead(o) || m.Heartbeat", "m.State == cluster.MemberHeld || !s.Dead(o) || m.State == cluster.MemberJoined || m.Heartbeat"),
		flaw.New("a held member's grants are never released", holds,
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) >= limit && at.Since < 0 {"),
		flaw.New("a held member's grants are released at once", holds,
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) >= 0 {"),
		flaw.New("an assignment that is taken away stays", project,
			"	return want, ready\n", "	if len(want.Tasks) < len(have.Tasks) {\n		want.Tasks = have.Tasks\n	}\n	return want, ready\n"),
		flaw.New("a write of unknown outcome counts as done", kept,
			"	case ev.Err != \"\":\n		s.doubt(k.target)\n", "	case ev.Err != \"\":\n		k.unsure = false\n		s.rule.docs.set(ev.Key, k)\n"),
		flaw.New("the roster is not written", kept,
			"	case there && same", "	case there && key == rosterKey || there && same"),
		flaw.New("an urgent look at a heartbeat waits", docs,
			"min(s.probing[i].next, s.probing[i].sent.Add(at.Sub(s.At)))", "s.probing[i].next"),
		flaw.New("a member that leaves is not let go", decide,
			"case b.Want == wantLeave && in &&", "case b.Want == wantLeave && in && m.Revoked &&"),
		flaw.New("what has failed is not heard", decide,
			"case say.Say == sayFailed && state == slotActive &&", "case say.Say == sayFailed && state == slotTaking &&"),
		flaw.New("nobody follows a dead leader", elect,
			"case former || move == elect.Remove:", "case former:"),
		flaw.New("the term is not checked", "cluster/leadership.go",
			"if v.leader.Term == 0 || e.Writer == v.leader.Writer {", "if v.leader.Term == 0 || e.Writer != \"\" {"),
	}
}
