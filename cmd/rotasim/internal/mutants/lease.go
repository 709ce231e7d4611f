package mutants

import (
	"slices"

	flaw "github.com/rota-run/rota/internal/mutant"
)

// ofLease are the flaws of the protocol lease.
func ofLease() []flaw.Flaw { return slices.Concat(leaseSessions(), leaseClaims(), leaseLeader()) }

// leaseSessions are those of heartbeats, fences and the Node List.
func leaseSessions() []flaw.Flaw {
	const beat, join, session = "protocol/lease/step_beat.go", "protocol/lease/step_join.go", "protocol/lease/session.go"
	return []flaw.Flaw{
		flaw.New("lease: a session is fenced too early", beat,
			"bool { return o.Dead(s.silence(o)) }", "bool { return o.Dead(s.silence(o) / 2) }"),
		flaw.New("lease: a fence is none", beat,
			"	n.State, n.Write = nodeFenced, s.writeName()\n", "	n.Write = s.writeName()\n"),
		flaw.New("lease: a holder counts from the answer", beat,
			"s.beat.Renewed(ev.Sent, s.p.timing())", "s.beat.Renewed(ev.Now, s.p.timing())"),
		flaw.New("lease: a renewal of unknown outcome counts", beat,
			"	case Done:\n		s.beat.version", "	case Done, Unknown:\n		s.beat.version"),
		flaw.New("lease: work goes on when the session has ended", beat,
			"	s.dropTries()\n	s.revoke(0)\n", "	s.dropTries()\n"),
		flaw.New("lease: the name of a live process is taken over", beat,
			"	case ours || s.dead(s.name.seen):\n", "	case ours || s.name.seen.Known:\n"),
		flaw.New("lease: the next life begins while work goes on", beat,
			"	if !s.idle() {\n		return\n	}\n	s.life++\n", "	s.life++\n"),
		flaw.New("lease: a member leaves while its work goes on", join,
			"	if s.phase != phaseLeaving || !s.idle() {\n", "	if s.phase != phaseLeaving {\n"),
	}
}

// leaseClaims are those of claims and what members say.
func leaseClaims() []flaw.Flaw {
	const claim, decide, look, try = "protocol/lease/step_claim.go", "protocol/lease/step_decide.go", "protocol/lease/step_look.go", "protocol/lease/step_try.go"
	return []flaw.Flaw{
		flaw.New("lease: the token is not raised", decide,
			"		if at++; !f.current(fact) {\n", "		if !f.current(fact) {\n"),
		flaw.New("lease: whoever is told to stop goes on", claim,
			"		if p.State != cluster.PartitionGranted {\n			continue\n		}\n		out", "		out"),
		flaw.New("lease: a member says stopped while it runs", claim,
			"	case p.State == cluster.PartitionReleasing && (r == nil || ended):\n", "	case p.State == cluster.PartitionReleasing:\n"),
		flaw.New("lease: what is done is free", decide,
			"		doc.State = done\n", "		doc.State = done\n		rec.State, rec.Owner = cluster.PartitionWaiting, \"\"\n"),
		flaw.New("lease: a claim of which nobody heard stays so", look,
			"	for _, id := range s.unknownClaims() {\n		add(id)\n	}\n", ""),
		flaw.New("lease: what is read back counts", try,
			"		s.confirm(i, t)\n		return\n", "		s.acknowledged(i, t)\n		return\n"),
		flaw.New("lease: a claim counts before it is acknowledged", try,
			"	case Unknown:\n		t.lost = true\n", "	case Unknown:\n		if _, ok := t.command.(cluster.Claim); ok {\n			t.put.Version = \"0\"\n			s.acknowledged(i, t)\n			return\n		}\n		t.lost = true\n"),
		flaw.New("lease: what an old read does not show is given up", claim,
			"s.now.Sub(h.missing) >= s.silence(heartbeat.Observation{}) {\n", "h.missing <= s.now {\n"),
		flaw.New("lease: a late holder unlocks", decide,
			"	v := f.value()\n	after, result := v.Do(at, w.atMS, c)\n	if !result.Accepted {\n		return verdict{result: result}\n	}\n	doc := fact.next",
			"	v := f.value()\n	if s, ok := c.(cluster.Stopped); ok {\n		c = cluster.Stopped{Partition: s.Partition, Token: fact.doc.Token}\n	}\n	after, result := v.Do(at, w.atMS, c)\n	if !result.Accepted {\n		return verdict{result: result}\n	}\n	doc := fact.next"),
		flaw.New("lease: the board is believed over the document", look,
			"	for _, e := range s.look.board.Stop {\n		if i, ok := findHeld(s.held, e.Partition); ok",
			"	for _, e := range s.look.board.Stop {\n		if i, ok := findHeld(s.held, e.Partition); ok {\n			s.held = slices.Delete(slices.Clone(s.held), i, i+1)\n		}\n		if i, ok := findHeld(s.held, e.Partition); ok"),
		flaw.New("lease: fair shares are hard", claim,
			"		if !mine && (e.Only || s.now < s.claimRest || s.now.Sub(s.look.freeSince(e)) < s.p.Patience) {\n", "		if !mine {\n"),
		flaw.New("lease: what is not reported counts as stopped", claim,
			"	if s.reported < s.assigned.Version || s.phase != phaseMember {\n", "	if s.phase != phaseMember {\n"),
		flaw.New("lease: what a split has said is forgotten", decide,
			"doc.Said = append(slices.Clip(doc.Said), saidDoc{Command: cluster.EncodeCommand(c)})", "doc.Said = slices.Clip(doc.Said)"),
	}
}

// leaseLeader are those of the leader and its passes.
func leaseLeader() []flaw.Flaw {
	const lead, look, pass = "protocol/lease/step_lead.go", "protocol/lease/step_look.go", "protocol/lease/step_pass.go"
	return []flaw.Flaw{
		flaw.New("lease: the wall clock decides", lead,
			"		case s.dead(o):\n", "		case s.wallMS-n.AtMS > s.p.TTL.Milliseconds():\n"),
		flaw.New("lease: a silent session is not fenced", lead,
			"		case s.dead(o):\n", "		case s.dead(o) && n.State == \"\":\n"),
		flaw.New("lease: a fenced member stays in the Node List", lead,
			"		case n.State == nodeFenced:\n			s.removeMember(m, was.Reason(\"its session has ended\", s.silence(o)))\n", "		case n.State == nodeFenced:\n"),
		flaw.New("lease: nobody follows a dead leader", look,
			"(!there || n.State == nodeFenced) {", "there && n.State == \"\" {",
			"if i >= 0 && s.now.Sub(e.Holder.Since) >= s.silence(e.Holder)+s.rank() {", "if i >= 0 && s.now < e.Holder.Since {"),
		flaw.New("lease: a leader rests though documents have changed", lead,
			"	rests := s.lead.rests && f.same(s.known)\n", "	rests := s.lead.rests\n"),
		flaw.New("lease: a held member's claims are never freed", lead,
			"if s.now.Sub(h.since) >= s.p.Hold && !s.tryingTo(m.ID) {", "if s.now < h.since && !s.tryingTo(m.ID) {"),
		flaw.New("lease: a new submission takes what is held", pass,
			"		if there && fact.doc.Holder != \"\" && p.f.live(fact.doc.Holder) {\n			return p.dropped(fact)\n		}\n", ""),
		flaw.New("lease: a token begins again", pass,
			"Token: firstToken(max(of, p.first[id])), Of: of", "Token: firstToken(1), Of: of"),
		flaw.New("lease: whoever is to give up is not told", pass,
			"x.doc.Holder != \"\" && len(b.Stop) < maxBoard {", "x.doc.Holder != \"\" && len(b.Stop) < 0 {"),
	}
}
