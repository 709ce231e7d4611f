package mutants

import (
	"slices"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

// Protocols are those that have a table.
func Protocols() []string { return []string{"replica", "leader", "lease", "sync"} }

// Table are the flaws of a protocol, by the file that they are in. Replica's has those of the value and of the supervisor too.
func Table(protocol string) []flaw.Flaw {
	switch protocol {
	case "leader":
		return ofLeader()
	case "lease":
		return ofLease()
	case "sync":
		return ofSync()
	case "replica":
		return slices.Concat(value(), ofReplica(), supervisor(), users(), doers(), windows(), guardians())
	}
	return nil
}

// all are the flaws of all protocols.
func all() (flaws []flaw.Flaw) {
	for _, p := range Protocols() {
		flaws = append(flaws, Table(p)...)
	}
	return flaws
}

func value() []flaw.Flaw {
	const apply, plan = "cluster/apply.go", "cluster/plan.go"
	return []flaw.Flaw{
		flaw.New("a doubled entry is applied twice", apply,
			"if w, ok := d.writers.Get(e.Writer); ok && e.Seq <= w.seq {", "if w, ok := d.writers.Get(e.Writer); ok && e.Seq < w.seq {"),
		flaw.New("a restart replaces whoever has its name", "cluster/command_join.go",
			"case had && old.Incarnation != c.Replaces:", "case had && old.Incarnation > d.at:"),
		flaw.New("a restart keeps what its former start owned", "cluster/command_join.go",
			"		d.release(c.Member, end{}, \"restarted\")\n", ""),
		flaw.New("an outdated join is accepted", "cluster/command_join.go",
			"case !ok || m.Incarnation != c.Incarnation:\n\t\treturn \"no such attempt to join\"\n\tcase m.State != MemberPrepared:\n\t\treturn \"it is not prepared\"\n\tcase !okBy",
			"case !ok:\n\t\treturn \"no such attempt to join\"\n\tcase m.State != MemberPrepared:\n\t\treturn \"it is not prepared\"\n\tcase !okBy"),
		flaw.New("somebody who is no member accepts", "cluster/command_join.go",
			"case !okBy || by.Incarnation != c.ByIncarnation || by.State != MemberJoined:", "case !okBy && by.Incarnation > d.at:"),
		flaw.New("whoever wants to accepts", "cluster/command_join.go",
			"case d.Successor(c.By) != c.Member:", "case c.By == c.Member:"),
		flaw.New("an outdated abort removes the next attempt", "cluster/command_join.go",
			"case !ok || m.Incarnation != c.Incarnation:\n\t\treturn \"no such attempt to join\"\n\tcase m.State != MemberPrepared:\n\t\treturn \"it is not prepared\"\n\t}",
			"case !ok:\n\t\treturn \"no such attempt to join\"\n\tcase m.State != MemberPrepared:\n\t\treturn \"it is not prepared\"\n\t}"),
		flaw.New("an outdated leave removes the next incarnation", "cluster/command_leave.go",
			"case !ok || m.Incarnation != c.Incarnation:\n\t\treturn \"no such member\"", "case !ok:\n\t\treturn \"no such member\""),
		flaw.New("a confirmed member keeps its incarnation", "cluster/command_join.go",
			"m.Incarnation, m.Heartbeat = d.at, c.Heartbeat", "m.Heartbeat = c.Heartbeat"),
		flaw.New("a confirmed member keeps its old heartbeat", "cluster/command_join.go",
			"m.Incarnation, m.Heartbeat = d.at, c.Heartbeat", "m.Incarnation = d.at"),
		flaw.New("whoever was removed confirms itself", "cluster/command_join.go",
			"if !ok || m.Incarnation != c.Incarnation || m.State == MemberHeld {\n\t\treturn \"no such member: it was removed\"",
			"if !ok || m.State == MemberHeld {\n\t\treturn \"no such member: it was removed\""),
		flaw.New("a drain is forgotten", "cluster/command_leave.go",
			"m.Draining = c.On\n", ""),
		flaw.New("nobody is joined when the last joined member goes", "cluster/command_join.go",
			"if oldest.ID != \"\" {\n\t\td.join(oldest)", "if oldest.ID == \"nobody\" {\n\t\td.join(oldest)"),
		flaw.New("a move stays open when its target goes", "cluster/command_leave.go",
			"	if p.State == PartitionAdopting {\n\t\tp.State = PartitionGranted\n\t}\n", ""),
		flaw.New("a new owner gets the old token", "cluster/ownership.go",
			"p.State, p.Owner, p.Token, p.Next, p.NextToken = PartitionGranted, to, d.at, \"\", 0",
			"p.State, p.Owner, p.Token, p.Next, p.NextToken = PartitionGranted, to, max(p.Token, 1), \"\", 0"),
		flaw.New("whoever says started adopts", "cluster/command_partition.go",
			"case p.State != PartitionAdopting || p.NextToken != c.Token:", "case p.State != PartitionAdopting:"),
		flaw.New("whoever says stopped releases", "cluster/command_partition.go",
			"case p.State != PartitionReleasing || p.Token != c.Token:", "case p.State != PartitionReleasing:"),
		flaw.New("a former owner's end counts", "cluster/partition.go",
			"case p.Token != token:", "case p.Token < token:"),
		flaw.New("nothing is ever parked", "cluster/command_partition.go",
			"if limit == 0 || p.Attempts < limit || p.Dropped {", "if limit >= 0 || p.Dropped {"),
		flaw.New("a move does not wait for its owner to stop", "cluster/ownership.go",
			"case to == \"\" || h == HandoverAtMostOne || d.claimed():", "case to == \"\":"),
		flaw.New("a move without a gap does not wait for the new owner", "cluster/ownership.go",
			"case h == HandoverNoGap && p.Token < d.at:", "case h == HandoverNoGap && to == \"\":"),
	}
}

func ofReplica() []flaw.Flaw {
	const (
		timing      = "protocol/heartbeat/timing.go"
		own         = "protocol/heartbeat/lease.go"
		observation = "protocol/heartbeat/observation.go"

		join      = "protocol/replica/step_join.go"
		reader    = "protocol/fold/step_reader.go"
		heartbeat = "protocol/replica/step_heartbeat.go"
		propose   = "protocol/replica/step_propose.go"
		assign    = "protocol/replica/step_assign.go"
		answer    = "protocol/outbox/answer.go"
	)
	return []flaw.Flaw{
		flaw.New("others wait for less than the lease of a silent member", timing,
			"return period(t.TTL, 1000+t.Rho)", "return period(t.TTL, 1000-4*t.Rho)"),
		flaw.New("a member holds its lease for longer than others wait", timing,
			"return period(t.TTL, 1000-t.Rho) - t.Margin", "return period(t.TTL, 1000+4*t.Rho) + t.Margin"),
		flaw.New("a longer TTL counts before it was acknowledged", own,
			"	if l.Held && t.TTL < l.TTL {", "	l.TTL = max(l.TTL, t.TTL)\n\tif l.Held && t.TTL < l.TTL {"),
		flaw.New("a lease lasts for the longest TTL that it may get", own,
			"l.Acked.Add(t.Of(l.TTL).Valid())", "l.Acked.Add(t.Of(max(l.TTL, t.Longest)).Valid())"),
		flaw.New("others wait for the usual TTL of a slow member", timing,
			"return t.Of(o.TTL).Silence()", "return t.Silence()"),
		flaw.New("a lease counts from the answer", heartbeat,
			"s.renewal.Renewed(ev.Sent, s.p.timing().Of(ev.TTL))\n", "s.renewal.Renewed(ev.Sent, s.p.timing().Of(ev.TTL))\n\t\ts.renewal.Acked = max(s.renewal.Acked, ev.Now)\n"),
		flaw.New("a joiner that was suspended renews its silent heartbeat", heartbeat,
			"if s.renewal.Lapsed(s.now, s.p.timing()) {", "if s.phase == phaseMember && s.renewal.Lapsed(s.now, s.p.timing()) {"),
		flaw.New("a member that lost its lease goes on under its old heartbeat", heartbeat,
			"	s.life++\n\ts.pace = s.pace.Lost(s.renewal.Lease, s.renewal.Waited(s.now), s.now, s.p.timing())\n\ts.renewal = renewal{}\n\tif s.assigned", "	if s.assigned"),
		flaw.New("the supervisor is not told that a lease has expired", heartbeat,
			"s.assigned.ValidUntil = 0\n", "s.assigned.ValidUntil = s.now.Add(s.p.TTL)\n"),
		flaw.New("a joiner names a heartbeat that is not there", heartbeat,
			"s.phase = phaseHeartbeat // nobody", "// nobody"),
		flaw.New("a look counts from its answer", observation,
			"o.Known, o.Looked = true, max(sent, o.Since)", "o.Known, o.Looked = true, now"),
		flaw.New("a listing is believed", observation,
			"o.Listed, o.Missing = false, true", "o.Listed, o.Missing, o.Known, o.Version = false, true, true, \"\""),
		flaw.New("a lost heartbeat is not noticed by its owner", heartbeat,
			"		s.renewal.Next = s.now.Add(s.p.Poll) // a member that is leaving begins no other life\n\t\ts.lapse()\n", "		s.renewal.Acked, s.renewal.Next = ev.Sent, ev.Sent.Add(s.p.TTL / 3)\n"),
		flaw.New("nobody sweeps", heartbeat,
			"if s.phase != phaseMember || s.sweep.busy || s.now < s.sweep.next {", "if s.phase != phaseMember || s.sweep.busy || s.now >= s.sweep.next {"),
		flaw.New("the dead are not reported", heartbeat,
			"		if !s.dead(o) {\n\t\t\tcontinue", "		if !o.Gone() {\n\t\t\tcontinue"),
		flaw.New("a live process's name is taken over", join,
			"if s.ours(m.Heartbeat) || s.dead(s.claim) {", "if s.ours(m.Heartbeat) || s.claim.Key != \"\" {"),
		flaw.New("its own former life stops a member", join,
			"if s.ours(m.Heartbeat) || s.dead(s.claim) {", "if s.dead(s.claim) {"),
		flaw.New("a removed member works on", join,
			"	s.joined = false\n\ts.revoke(0)\n", "	s.joined = false\n"),
		flaw.New("a removed member does not come back", join,
			"	if !s.idle() {\n\t\treturn\n\t}\n\ts.life++", "	if s.idle() {\n\t\treturn\n\t}\n\ts.life++"),
		flaw.New("a member leaves while its work runs", propose,
			"if m, ok := s.present(); ok && s.idle() {", "if m, ok := s.present(); ok {"),
		flaw.New("an entry inside a snapshot is appended for ever", answer,
			"if p == nil || wrote < p.Entry.Seq {", "if p == nil || wrote >= p.Entry.Seq {"),
		flaw.New("an own entry is applied before those that stand before it", reader,
			"if ev.Index == v.Index()+1 {", "if ev.Index > v.Index() {"),
		flaw.New("an answer that was under way is taken for a shorter log", reader,
			"if cluster.Index(ev.Page.Head) < r.after {", "if cluster.Index(ev.Page.Head) < v.Index() {"),
		flaw.New("a rewritten history is not noticed", "protocol/history/history.go",
			"case chain != has.Chain:", "case chain != has.Chain && h.asking:"),
		flaw.New("an entry of a newer version is skipped", reader,
			"if err != nil {\n\t\t\treturn Taken{Halt: err}", "if err != nil && rec.Index == 0 {\n\t\t\treturn Taken{Halt: err}"),
		flaw.New("an entry of an older format ends all members", "cluster/value.go",
			"(other.Format > Format || v.writers.Len() == 0)", "other.Format > 0"),
		flaw.New("steps are told before the supervisor knows", assign,
			"if s.reported < s.assigned.Version {", "if s.reported > s.assigned.Version {"),
		flaw.New("stopped is said while it runs", "protocol/duty/step.go",
			"case d.Role == cluster.RoleStop && (r == nil || ended):", "case d.Role == cluster.RoleStop:"),
	}
}

func supervisor() []flaw.Flaw {
	const step, part = "work/step.go", "work/step_part.go"
	return []flaw.Flaw{
		flaw.New("work goes on when a lease has expired", step,
			"valid := s.assigned && s.now < s.validUntil", "valid := s.assigned && s.validUntil >= 0"),
		flaw.New("a run that ends makes room for one whose lease has expired", step,
			"lost := s.valid && s.now >= s.validUntil", "lost := s.valid && s.now < 0"),
		flaw.New("a run goes on under a newer token", part,
			"case p.grant.Token != p.token:\n\t\treturn StopToken, true\n", ""),
		flaw.New("a run that was taken away goes on", part,
			"	case p.grant == nil:\n\t\treturn StopUnassigned, true\n", "	case p.grant == nil:\n\t\treturn 0, false\n"),
		flaw.New("a finished run is begun again", part,
			"if p.grant != nil && p.grant.Token != p.token {\n\t\t\tp.phase, p.waited = phaseIdle, false\n\t\t}\n\tcase phaseFailed:", "if p.grant != nil {\n\t\t\tp.phase, p.waited = phaseIdle, false\n\t\t}\n\tcase phaseFailed:"),
	}
}
