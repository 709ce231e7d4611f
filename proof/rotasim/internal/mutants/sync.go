package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// ofSync are the flaws of the protocol sync, and of the value where owners share. Not in it, because nothing can come of them: a share of what is on its way,
// for an owner writes one entry after the other and leaves out what moves; an epoch with a stranger in it, for the caller appends nothing that cannot be
// read back, and strangers do not stay; and a member that does not see in the log that it was removed, for it owns nothing then, and its next heartbeat says
// so too. Open: a leader that guesses that the group began again needs one that reads the log and gets no answer from the group, which neither the simulator
// nor a walk has; a test of the step notices it.
func ofSync() []flaw.Flaw {
	const group, life, epoch, step = "internal/protocol/sync/step_group.go", "internal/protocol/sync/step_group.go", "internal/protocol/sync/step_epoch.go", "internal/protocol/sync/step.go"
	const work = "internal/protocol/duty/work.go"
	return []flaw.Flaw{
		flaw.New("a late epoch is accepted", "cluster/epoch.go",
			"case !d.epoch.Above(c.Start, c.Generation):", "case c.Generation == 0:"),
		flaw.New("epochs are ordered by the clock", "cluster/epoch.go",
			"case !d.epoch.Above(c.Start, c.Generation):", "case d.atMS < d.epoch.SinceMS:"),
		flaw.New("starts of the group are not counted", "cluster/epoch.go",
			"return start > a.Start || start == a.Start && generation > a.Generation", "return generation > a.Generation"),
		flaw.New("an epoch does not remove the lost", "cluster/epoch.go",
			"			lost = append(lost, m.Member)\n", ""),
		flaw.New("an epoch removes those that it names", "cluster/epoch.go",
			"(!ok || named[i].Join.Heartbeat != m.Heartbeat)", "(!ok || named[i].Join.Heartbeat != \"\")"),
		flaw.New("a new start takes the place of the one before", "cluster/epoch.go",
			"(!ok || named[i].Join.Heartbeat != m.Heartbeat)", "(!ok || i < 0)"),
		flaw.New("a void share takes the partition from its owner", "cluster/share.go",
			"if why := d.shareVoid(p, c.To); why != \"\" {\n", "if why := d.shareVoid(p, c.To); why != \"\" {\n\t\td.free(p, why)\n"),
		flaw.New("a child starts before all its parents are finished", "cluster/command_split.go",
			"if ok && parent.State != PartitionFinished {", "if ok && parent.State != PartitionFinished && parent.State != PartitionGranted {"),
		flaw.New("the lease counts from the answer", group,
			"s.renewed(ev.Sent)\n\t\t}\n\tcase Beaten:", "s.renewed(ev.Now)\n\t\t}\n\tcase Beaten:",
			"s.renewed(ev.Sent)\n\t\t}\n\tcase GroupLeft:", "s.renewed(ev.Now)\n\t\t}\n\tcase GroupLeft:"),
		flaw.New("the lease outlives the group's patience", group,
			"s.Extend(sent, s.group.ttl)", "s.Extend(sent, 2*s.group.ttl)"),
		flaw.New("a refused heartbeat renews the lease", group,
			"	case Again:\n", "	case Again:\n\t\ts.Extend(s.At, 0)\n"),
		flaw.New("who was removed joins under the former ID", group,
			"s.group, s.Own = group{next: s.At},", "s.group, s.Own = group{id: s.group.id, next: s.At},"),
		flaw.New("an epoch names two of one name", epoch,
			"return a.Join.Member == b.Join.Member })", "return a.Join.Heartbeat == b.Join.Heartbeat })"),
		flaw.New("nothing is shared", epoch,
			"	for _, c := range s.shares {", "	for _, c := range s.shares[:0] {"),
		flaw.New("two processes of one name wait for each other", life,
			"s.At.Sub(s.passed) >= namesLast*s.Params.TTL", "s.passed > s.At"),
		flaw.New("an own record is applied before those that come before it", "internal/protocol/fold/step_take.go",
			"case ev.Index == l.Value.Index()+1:", "case ev.Index > l.Value.Index():"),
		flaw.New("what was held is never given away", "internal/protocol/duty/holds.go",
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) < 0 {"),
		flaw.New("a share to a member that is not in the epoch counts", "cluster/share.go",
			"case !ok || m.State != MemberJoined:\n\t\treturn \"void", "case to == p.Owner && !ok:\n\t\treturn \"void"),
		flaw.New("a former owner's share counts", "cluster/share.go",
			"	if why := p.owned(c.Token); why != \"\" {\n\t\treturn why\n\t}\n\tswitch {\n\tcase p.State", "	if why := p.owned(p.Token); why != \"\" {\n\t\treturn why\n\t}\n\tswitch {\n\tcase p.State"),
		flaw.New("a target that is lost stays the target", "cluster/command_leave.go",
			"p.Next, p.NextToken = \"\", 0\n\tif p.State == PartitionAdopting {", "p.NextToken = 0\n\tif p.State == PartitionAdopting {"),
		flaw.New("a member that joins again keeps what ran", "internal/protocol/member/walk.go",
			"s.Free && c.Idle():", "s.Free:", "	c.Revoke(index, 0)\n\tc.Emit(", "	c.Emit("),
		flaw.New("a step is said before the supervisor knows", work,
			"if c.Behind() || c.Silent {", "if c.Behind() && c.At < 0 || c.Silent {"),
		flaw.New("another history is read on", "internal/protocol/fold/step_history.go",
			"case chain != ev.Has.Chain:", "case chain != ev.Has.Chain && h.asking:"),
	}
}
