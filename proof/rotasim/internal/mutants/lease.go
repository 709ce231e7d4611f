package mutants

import (
	"slices"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

// ofLease are the flaws of the protocol lease that a run of a minute or two notices, or a story. Open, for a few short seeds and the walks have not noticed them: the next
// life begins while work goes on, a member leaves or says stopped while its work goes on, what is not reported counts as stopped, a late holder unlocks, what
// is done is free, a claim of which nobody heard stays so, the board is believed over the document, fair shares are hard, what a split has said is forgotten,
// a held member's claims are never freed, and a new submission takes what is held. Their texts are in the commit "mutants: 31 flaws of lease to be tried".
func ofLease() []flaw.Flaw {
	return slices.Concat(leaseSessions(), leaseClaims(), leaseLeader(), leaseReads())
}

// leaseSessions are those of heartbeats, fences and the Node List.
func leaseSessions() []flaw.Flaw {
	const beat, lease = "internal/protocol/lease/step_beat.go", "internal/protocol/member/lease.go"
	return []flaw.Flaw{
		flaw.New("lease: a guardian hears of no heartbeat", "internal/protocol/beat/session.go", "	g.Guard(l.end)\n", ""),
		flaw.New("lease: a session is fenced too early", lease,
			"bool { return o.Dead(c.Silence(o)) }", "bool { return o.Dead(c.Silence(o) / 2) }"),
		flaw.New("lease: a fence is none", beat,
			"	n.State, n.Write = heartbeat.Fenced, s.writeName()\n", "	n.Write = s.writeName()\n"),
		flaw.New("lease: a holder counts from the answer", lease,
			"c.Extend(ev.Sent, ev.TTL)", "c.Extend(ev.Now, ev.TTL)"),
		flaw.New("lease: a renewal of unknown outcome counts", lease,
			"	case outbox.Done:\n		c.Extend", "	case outbox.Done, outbox.Unknown:\n		c.Extend"),
		flaw.New("lease: a renewal writes over what it finds", "internal/protocol/beat/writer.go",
			"w.Fenced && heartbeat.StateOf(d.Value) != heartbeat.Live:", "w.Fenced && d.Version == \"\":"),
		flaw.New("lease: work goes on when the session has ended", beat,
			"	s.dropTries()\n	s.Revoke(s.value.Index(), 0)\n", "	s.dropTries()\n"),
		flaw.New("lease: the name of a live process is taken over", beat,
			"	case ours || s.Dead(s.name.seen):\n", "	case ours || s.name.seen.Known:\n"),
	}
}

// leaseClaims are those of claims and what members say.
func leaseClaims() []flaw.Flaw {
	const claim, decide, look, try = "internal/protocol/lease/step_claim.go", "internal/protocol/lease/step_decide.go", "internal/protocol/lease/step_look.go", "internal/protocol/lease/step_attempt.go"
	return []flaw.Flaw{
		flaw.New("lease: an index that was taken long before counts", decide,
			"if w.index <= max(was.doc.Submitted, was.job.SpecIndex, f.config.Forgotten) {", "if w.index == 0 {"),
		flaw.New("lease: an index from before a job was forgotten counts", decide,
			"was.job.SpecIndex, f.config.Forgotten) {", "was.job.SpecIndex) {"),
		flaw.New("lease: the token is not raised", decide,
			"		if at++; !f.current(fact) {\n", "		if !f.current(fact) {\n"),
		flaw.New("lease: whoever is told to stop goes on", claim,
			"if p := h.partition; p.State == cluster.PartitionGranted {", "if p := h.partition; p.ID != \"\" {"),
		flaw.New("lease: what is read back counts", try,
			"		a.put, a.lost = renamed(a.put, w.write), false\n		return a\n", "		return a.acknowledged()\n"),
		flaw.New("lease: a claim counts before it is acknowledged", try,
			"	case outbox.Unknown:\n		a.lost = true\n", "	case outbox.Unknown:\n		if _, ok := a.command.(cluster.Claim); ok {\n			a.put.Version = \"0\"\n			return a.acknowledged()\n		}\n		a.lost = true\n"),
		flaw.New("lease: what an old read does not show is given up", claim,
			"s.At.Sub(h.missing) >= s.Silence(heartbeat.Observation{}) {\n", "h.missing <= s.At {\n"),
	}
}

// leaseLeader are those of the leader and its passes.
func leaseLeader() []flaw.Flaw {
	const lead, look, pass = "internal/protocol/lease/step_lead.go", "internal/protocol/lease/step_look.go", "internal/protocol/lease/step_pass.go"
	return []flaw.Flaw{
		flaw.New("lease: the wall clock decides", lead,
			"		case s.Dead(o):\n", "		case s.wallMS-n.doc.AtMS > s.Params.TTL.Milliseconds():\n"),
		flaw.New("lease: a silent session is not fenced", lead,
			"		case s.Dead(o):\n", "		case s.Dead(o) && n.doc.State == \"\":\n"),
		flaw.New("lease: a fenced member stays in the Node List", lead,
			"		case n.doc.State == heartbeat.Fenced:\n			s.removeMember(m, was.Reason(\"its session has ended\", s.Silence(o)))\n", "		case n.doc.State == heartbeat.Fenced:\n"),
		flaw.New("lease: nobody follows a dead leader", look,
			"(docs[i].Version == \"\" || n.State == heartbeat.Fenced) {", "n.State == \"never\" {",
			"if i >= 0 && s.At.Sub(e.Holder.Since) >= s.Silence(e.Holder)+s.rank() {", "if i >= 0 && s.At < e.Holder.Since {"),
		flaw.New("lease: a leader rests though documents have changed", lead,
			"	rests := s.lead.rests && f.same(s.known)\n", "	rests := s.lead.rests\n"),
		flaw.New("lease: a token begins again", pass,
			"doc: partitionDoc{Token: token, Of: j.doc.Submitted}", "doc: partitionDoc{Token: min(token, firstToken(1)), Of: j.doc.Submitted}"),
		flaw.New("lease: whoever is to give up is not told", pass,
			"x.doc.Holder != \"\" && len(b.Stop) < maxBoard {", "x.doc.Holder != \"\" && len(b.Stop) < 0 {"),
		flaw.New("lease: a leader numbers its views by its board alone", lead,
			"	s.lead.view = max(s.lead.view, ev.Newest)\n", ""),
	}
}

// leaseReads are those of a leader whose lists are old, or who leads beside another one.
func leaseReads() []flaw.Flaw {
	const facts, pass, calls = "internal/protocol/lease/step_facts.go", "internal/protocol/lease/step_pass.go", "internal/protocol/lease/calls.go"
	return []flaw.Flaw{
		flaw.New("lease: what an old list shows counts", calls,
			"surveyAll(ctx, c.Store, e.Keys, e.usable)", "surveyAll(ctx, c.Store, e.Keys, asListed)"),
		flaw.New("lease: a survey reads the Node List first", calls,
			"	case key == keyNodes:\n		return 3\n", "	case key == keyNodes:\n		return -1\n"),
		flaw.New("lease: a survey reads a job before its partitions", calls,
			"	return 1\n}\n\n// jobsOf", "	return -1\n}\n\n// jobsOf"),
		flaw.New("lease: shares of a former layout are claimed", facts,
			"p.doc.State == gone || f.superseded(p) {", "p.doc.State == gone {"),
		flaw.New("lease: shares are offered under the layout of another leader", pass,
			"return p.laid != \"\" && j.doc.Layouts[task] == p.laid", "return j.doc.Layouts[task] != \"\""),
		flaw.New("lease: slots that an old list does not show count as free", pass,
			"for n := range m.Slots {", "for n := range m.Slots * 0 {"),
	}
}
