package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// users are flaws of what users count on beside one owner at a time: order, bounds, answers, drains, even shares.
func users() []flaw.Flaw {
	const (
		plan     = "cluster/plan.go"
		snapshot = "cluster/snapshot.go"
		even     = "schedule/even.go"
		group    = "schedule/group.go"
	)
	return []flaw.Flaw{
		flaw.New("children run beside their parents", "cluster/command_split.go",
			"if ok && parent.State != PartitionFinished {", "if ok && parent.State == PartitionWaiting {"),
		flaw.New("children wait for ever", "cluster/command_split.go",
			"if p, _ := d.edit(id); d.startable(p) {", "if p, _ := d.edit(id); !d.startable(p) {"),
		flaw.New("a split is accepted from a former owner", "cluster/command_split.go",
			"	if why := p.owned(c.Token); why != \"\" {\n\t\treturn why\n\t}\n\tjob, task, key := c.Partition.Split()", "	job, task, key := c.Partition.Split()"),
		flaw.New("a failure counts twice", "cluster/command_partition.go",
			"if c.Attempt != p.Attempts {", "if c.Attempt > p.Attempts {"),
		flaw.New("moves have no budget", plan,
			"budget := max(0, d.Settings().MoveBudget-d.derived.moving)", "budget := d.Settings().MoveBudget"),
		flaw.New("a killed job's owners need not stop", "cluster/job.go",
			"if !running || p.class == nil || d.handover(id) != HandoverAtMostOne {", "if running || p.class == nil || d.handover(id) != HandoverAtMostOne {"),
		flaw.New("a job is changed by another source", "cluster/command_job.go",
			"case old.Spec.Source != c.Spec.Source:\n\t\treturn \"it is from \"", "case old.Spec.Source != c.Spec.Source && c.Job == \"\":\n\t\treturn \"it is from \""),
		flaw.New("a source that lost its partition still submits", "cluster/command_job.go",
			"	return p.owned(token)\n", "	_ = p\n\treturn \"\"\n"),
		flaw.New("what is updated away stays", "cluster/command_job.go",
			"		if !listed[key] {", "		if listed[key] {"),
		flaw.New("a finished task runs on in its other slots", "cluster/command_partition.go",
			"		d.vacate(id, \"its task is finished\")", "		_ = id"),
		flaw.New("a draining member keeps its slots", "cluster/command_leave.go",
			"if p, _ := d.partitions.Get(id); p.Slot != 0 && !p.Dropped {", "if p, _ := d.partitions.Get(id); p.Slot < 0 {"),
		flaw.New("a draining member keeps its partitions", "schedule/fill.go",
			"c.count > 0 && (p.members[c.member].Draining || !p.groups[g].allows(c.member))", "c.count > 0 && !p.groups[g].allows(c.member)"),
		flaw.New("a draining member gets partitions", group,
			"if r.allows(m) && !p.members[m].Draining {", "if r.allows(m) {"),
		flaw.New("every member runs it, draining or not", plan,
			"m.State == MemberJoined && !m.Draining && t.allowed(&m.Member)", "m.State == MemberJoined && t.allowed(&m.Member)"),
		flaw.New("nothing is evened", even,
			"	return compare(sa.load, sa.weight, sb.load+w, sb.weight) > 0", "	return sa == nil"),
		flaw.New("what was held is not given back", "cluster/command_join.go",
			"if p, _ := d.edit(id); p.State == PartitionHeld && p.Owner == m.ID {", "if p, _ := d.edit(id); p.State == PartitionHeld && p.Owner != m.ID {"),
		flaw.New("a snapshot forgets who has written", snapshot,
			"	codeRecords(x, &v.writers, codeWriter)\n", "	x.put(0)\n"),
		flaw.New("members do not hear that they are the target of a move", "cluster/draft.go",
			"	d.touch(p.Owner)\n\td.touch(p.Next)\n", "	d.touch(p.Owner)\n"),
	}
}

// doers are such flaws of those who do it: the protocol and the supervisor.
func doers() []flaw.Flaw {
	const (
		join      = "protocol/replica/step_join.go"
		log       = "protocol/replica/step_log.go"
		holds     = "protocol/duty/holds.go"
		heartbeat = "protocol/replica/step_heartbeat.go"
		answer    = "protocol/outbox/answer.go"
		part      = "work/step_part.go"
	)
	return []flaw.Flaw{
		flaw.New("holds are never released", holds,
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) < 0 {"),
		flaw.New("holds are released at once", holds,
			"if now.Sub(at.Since) >= limit {", "if now.Sub(at.Since) >= 0 {"),
		flaw.New("a request gets the answer of another", answer,
			"	at := p.Own\n", "	at := 0\n"),
		flaw.New("a request inside a snapshot is never answered", answer,
			"out = append(out, Answer{ID: r.ID, Unknown: true,", "_ = append(out, Answer{ID: r.ID, Unknown: true,"),
		flaw.New("a joiner that died stays prepared", heartbeat,
			"			out = append(out, cluster.AbortJoin{Member: m.ID, Incarnation: m.Incarnation})\n", ""),
		flaw.New("the watcher does not look", heartbeat,
			"	case phaseMember, phaseConfirm:\n\t\treturn s.reactions().Watch.Heartbeat\n", ""),
		flaw.New("stray heartbeats stay for ever", heartbeat,
			"if !s.first() {\n\t\treturn\n\t}\n\towned", "if s.now >= 0 {\n\t\treturn\n\t}\n\towned"),
		flaw.New("a second start takes over from a quicker one", join,
			"		s.phase = phaseClaim // another start was quicker\n", ""),
		flaw.New("nobody writes snapshots", log,
			"return s.phase == phaseMember && s.first()", "return s.phase > phaseHalted && s.first()"),
		flaw.New("the runs of a type have no bound", "work/step_retry.go",
			"t.max > 0 && t.running >= t.max", "t.max > 0 && t.running > t.max"),
		flaw.New("a failed run is begun again at once", part,
			"case p.grant.Attempt > 0 && !p.waited:", "case p.grant.Attempt > 0 && !p.waited && p.def == nil:"),
	}
}
