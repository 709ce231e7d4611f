package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// doers are flaws of what users count on, beside one owner at a time: of those who do it, the protocol and the supervisor.
func doers() []flaw.Flaw {
	const (
		walk      = "internal/protocol/member/walk.go"
		log       = "internal/protocol/replica/step_log.go"
		holds     = "internal/protocol/duty/holds.go"
		heartbeat = "internal/protocol/replica/step_heartbeat.go"
		answer    = "internal/protocol/outbox/answer.go"
		part      = "internal/work/supervisor/step_part.go"
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
			"	case member.PhaseMember, member.PhaseConfirming:\n\t\treturn s.work.Asks(&s.Core, s.log.Value).Watch.Heartbeat\n", ""),
		flaw.New("stray heartbeats stay for ever", heartbeat,
			"	if s.First() {\n", "	if s.First() && s.At < 0 {\n"),
		flaw.New("a second start takes over from a quicker one", walk,
			"		c.Is = PhaseNaming // another start was quicker\n", ""),
		flaw.New("nobody writes snapshots", log,
			"return s.Is == member.PhaseMember && s.First()", "return s.Is > member.PhaseHalted && s.First()"),
		flaw.New("the runs of a type have no bound", "internal/work/supervisor/step_retry.go",
			"t.max > 0 && t.running >= t.max", "t.max > 0 && t.running > t.max"),
		flaw.New("a failed run is begun again at once", part,
			"case p.grant.Attempt > 0 && !p.waited:", "case p.grant.Attempt > 0 && !p.waited && p.def == nil:"),
	}
}
