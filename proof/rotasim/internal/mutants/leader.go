package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// ofLeader are the flaws of the protocol leader that are noticed. docs/internals/track-record.md names those that are not yet.
func ofLeader() []flaw.Flaw {
	const holds = "protocol/internal/duty/holds.go"
	const slots, life, decide = "protocol/leader/step_slots.go", "protocol/leader/step_life.go", "protocol/leader/step_decide.go"
	const project, docs, elect = "protocol/leader/step_project.go", "protocol/leader/step_docs.go", "protocol/leader/step_elect.go"
	return []flaw.Flaw{
		flaw.New("a member starts before its ack is accepted", slots,
			"if h.State == slotActive || h.State == slotTaking {", "if h.State == slotActive || h.State == slotTaking || h.State == slotAcking {"),
		flaw.New("a member runs what is taken from it", slots,
			"if h.State == slotActive || h.State == slotTaking {", "if h.State == slotActive || h.State == slotTaking || h.State == slotSealing {"),
		flaw.New("a member says stopped while it runs", slots,
			"case h.State == slotSealing && (!there || ended),", "case h.State == slotSealing,"),
		flaw.New("no offer is accepted", slots,
			"		return saying{Say: sayAccept}\n", "		return saying{}\n"),
		flaw.New("another process's name is taken over", life,
			"if o := s.claims.Of(heartbeat); !s.Dead(o) {", "if o := s.claims.Of(heartbeat); !s.Dead(o) && o.Gone() {"),
		flaw.New("a removed member does not join again", "protocol/member/walk.go",
			"		w.Again()\n\t\tc.Is = PhaseNaming\n", "		w.Again()\n"),
		flaw.New("a lost member is kept", decide,
			"m.State == cluster.MemberHeld || !s.Dead(o) || m.Heartbeat", "m.State == cluster.MemberHeld || !s.Dead(o) || m.State == cluster.MemberJoined || m.Heartbeat"),
		flaw.New("a held member's grants are never released", holds,
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) >= limit && at.Since < 0 {"),
		flaw.New("a held member's grants are released at once", holds,
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) >= 0 {"),
		flaw.New("an assignment that is taken away stays", project,
			"	case !ok:\n		s.drop(key, have.version)\n	case there", "	case !ok:\n		return true\n	case there"),
		flaw.New("a write of unknown outcome counts as done", "protocol/leader/step_written.go",
			"	if ev.Err != \"\" {\n		k.unsure = true\n", "	if ev.Err != \"\" {\n		k.unsure = false\n"),
		flaw.New("the roster is not written", "protocol/leader/step_project_head.go",
			"	if !at.stale || s.isBusy(rosterKey) {", "	if !at.stale || at.Index > 0 || s.isBusy(rosterKey) {"),
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
