package mutants

import (
	"embed"
	"fmt"
	"slices"

	flaw "github.com/rota-run/rota/internal/proof/mutant"
)

//go:embed *.txt
var lists embed.FS

func text(file string) string {
	b, err := lists.ReadFile(file)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// list reads the flaws of a file.
func list(name string) []flaw.Flaw {
	all, err := flaw.ParseList(text(name + ".txt"))
	if err != nil {
		panic(fmt.Errorf("%s.txt: %w", name, err)) // a test reads all of them
	}
	return flaw.Flaws(all)
}

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
		return slices.Concat(list("cluster"), ofReplica(), list("work"), doers(), list("guardian"))
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

func ofReplica() []flaw.Flaw {
	const (
		timing      = "internal/protocol/heartbeat/timing.go"
		own         = "internal/protocol/heartbeat/lease.go"
		observation = "internal/protocol/heartbeat/observation.go"

		walk      = "internal/protocol/member/walk.go"
		lease     = "internal/protocol/member/lease.go"
		join      = "internal/protocol/replica/step_join.go"
		reader    = "internal/protocol/fold/step_take.go"
		heartbeat = "internal/protocol/replica/step_heartbeat.go"
		propose   = "internal/protocol/replica/step_log.go"
		work      = "internal/protocol/duty/work.go"
		answer    = "internal/protocol/outbox/answer.go"
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
		flaw.New("a lease counts from the answer", lease,
			"c.Extend(ev.Sent, ev.TTL)\n", "c.Extend(ev.Sent, ev.TTL)\n\t\tc.Own.Acked = max(c.Own.Acked, ev.Now)\n"),
		flaw.New("a joiner that was suspended renews its silent heartbeat", lease,
			"return c.lapse != Resume && c.Lapsed()", "return c.Is == PhaseMember && c.Lapsed()"),
		flaw.New("a member that lost its lease goes on under its old heartbeat", lease,
			"	c.Own = Own{}\n", "", "	c.Life++\n", ""),
		flaw.New("the supervisor is not told that a lease has expired", lease,
			"c.Given.ValidUntil = 0\n", "c.Given.ValidUntil = c.At.Add(c.TTL)\n"),
		flaw.New("a joiner names a heartbeat that is not there", lease,
			"c.Is = PhaseBeginning // nobody", "// nobody"),
		flaw.New("a look counts from its answer", observation,
			"o.Known, o.Looked = true, max(sent, o.Since)", "o.Known, o.Looked = true, now"),
		flaw.New("a listing is believed", observation,
			"o.Listed, o.Missing = false, true", "o.Listed, o.Missing, o.Known, o.Version = false, true, true, \"\""),
		flaw.New("a lost heartbeat is not noticed by its owner", lease,
			"		c.Own.Next = c.At.Add(c.Poll)\n\t\tc.Own.Over = c.Is == PhaseLeaving // it begins no other life\n\t\treturn c.Lost(\"its session has ended\")\n", "		c.Own.Acked, c.Own.Next = ev.Sent, ev.Sent.Add(c.TTL / 3)\n"),
		flaw.New("nobody sweeps", heartbeat,
			"if s.Is != member.PhaseMember || s.sweep.busy || s.At < s.sweep.next {", "if s.Is != member.PhaseMember || s.sweep.busy || s.At >= s.sweep.next {"),
		flaw.New("the dead are not reported", heartbeat,
			"		if !s.Dead(o) {\n\t\t\tcontinue", "		if !o.Gone() {\n\t\t\tcontinue"),
		flaw.New("a live process's name is taken over", join,
			"return s.Ours(m.Heartbeat) || s.Dead(s.claim)", "return s.Ours(m.Heartbeat) || s.claim.Key != \"\""),
		flaw.New("its own former life stops a member", join,
			"return s.Ours(m.Heartbeat) || s.Dead(s.claim)", "return s.Dead(s.claim)"),
		flaw.New("a removed member works on", walk,
			"	c.Is, c.Joined = PhaseRemoved, false\n\tc.Revoke(index, 0)\n", "	c.Is, c.Joined = PhaseRemoved, false\n"),
		flaw.New("a removed member does not come back", walk,
			"s.Free && c.Idle():", "s.Free && !c.Idle():"),
		flaw.New("a member leaves while its work runs", propose,
			"if m, ok := s.present(); ok && s.Idle() {", "if m, ok := s.present(); ok {"),
		flaw.New("an entry inside a snapshot is appended for ever", answer,
			"if p == nil || wrote < p.Entry.Seq {", "if p == nil || wrote >= p.Entry.Seq {"),
		flaw.New("an own entry is applied before those that stand before it", reader,
			"case ev.Index == l.Value.Index()+1:", "case ev.Index > l.Value.Index():"),
		flaw.New("an answer that was under way is taken for a shorter log", reader,
			"if cluster.Index(ev.Page.Head) < l.after {", "if cluster.Index(ev.Page.Head) < l.Value.Index() {"),
		flaw.New("a rewritten history is not noticed", "internal/protocol/fold/step_history.go",
			"case chain != ev.Has.Chain:", "case chain != ev.Has.Chain && h.asking:"),
		flaw.New("an entry of a newer version is skipped", reader,
			"if err != nil {\n\t\t\treturn err", "if err != nil && rec.Index == 0 {\n\t\t\treturn err"),
		flaw.New("an entry of an older format ends all members", "cluster/value.go",
			"(other.Format > Format || v.writers.Len() == 0)", "other.Format > 0"),
		flaw.New("steps are told before the supervisor knows", work,
			"if c.Behind() || c.Silent {", "if c.Behind() && c.At < 0 || c.Silent {"),
		flaw.New("stopped is said while it runs", "internal/protocol/duty/step.go",
			"case d.Role == cluster.RoleStop && (r == nil || ended):", "case d.Role == cluster.RoleStop:"),
	}
}
