package duty

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// TestWord: what is said of a duty by each role and each report of it. A report of another token says that it does not
// run, and one of an attempt that was counted already says nothing.
func TestWord(t *testing.T) {
	t.Parallel()
	report := func(token cluster.Token, s protocol.RunState, attempt int64) *protocol.Report {
		return &protocol.Report{Partition: "x", Token: token, State: s, Attempt: attempt, Message: "why", Fresh: true}
	}
	const token, attempt = 7, 2
	names := map[*protocol.Report]string{
		nil: "none",
		report(token, protocol.RunActive, attempt):       "runs",
		report(token, protocol.RunFinished, attempt):     "finished",
		report(token, protocol.RunFailed, attempt):       "failed",
		report(token, protocol.RunFailed, attempt-1):     "failed before",
		report(token-1, protocol.RunActive, attempt):     "runs under another token",
		report(token-1, protocol.RunFinished, attempt):   "finished under another token",
		report(token-1, protocol.RunFailed, attempt):     "failed under another token",
		report(token+1, protocol.RunFinished, attempt-1): "finished under a later token",
	}
	want := map[cluster.Role]map[string]string{
		cluster.RoleRun:   {"finished": "done", "failed": "failed"},
		cluster.RoleStop:  {"none": "stopped", "finished": "done", "failed": "stopped", "failed before": "stopped"},
		cluster.RoleAdopt: {"runs": "started", "finished": "stopped", "failed": "stopped", "failed before": "stopped"},
	}
	for role, said := range want {
		for r, name := range names {
			d := cluster.Duty{Partition: &cluster.Partition{ID: "x", Attempts: attempt}, Role: role, Token: token}
			got := ""
			switch c := Word(d, r).(type) {
			case cluster.FinishPartition:
				if got = "done"; c.Outcome == cluster.OutcomeFailed {
					got = "failed"
				}
				if got == "failed" && (c.Message != "why" || !c.Fresh || c.Attempt != attempt) || c.Token != token {
					t.Errorf("it says %+v", c)
				}
			case cluster.Stopped:
				got = "stopped"
			case cluster.Started:
				got = "started"
			}
			if got != said[name] {
				t.Errorf("role %d, %s: it says %q, want %q", role, name, got, said[name])
			}
		}
	}
}

// TestCalm: a partition whose former owners died is reported as started at each look, once it has run for a minute, or
// for two TTLs if that is longer. A look without it, or another token, begins that time again.
func TestCalm(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) protocol.Instant { return protocol.Instant(1).Add(d) }
	for _, ttl := range []time.Duration{time.Second, time.Minute} {
		limit := max(time.Minute, 2*ttl)
		var c Calm
		look := func(now time.Duration, want string, running ...string) {
			t.Helper()
			var duties []cluster.Duty
			var reports []protocol.Report
			for _, id := range []string{"a", "b", "calm", "d"} {
				p := &cluster.Partition{ID: cluster.PartitionID(id), Deaths: 1}
				if id == "calm" {
					p.Deaths = 0
				}
				token := cluster.Token(1)
				if id == "d" && now > limit {
					token = 2
				}
				duties = append(duties, cluster.Duty{Partition: p, Role: cluster.RoleRun, Token: token})
				for _, r := range running {
					if r == id {
						reports = append(reports, protocol.Report{Partition: p.ID, Token: token})
					}
				}
			}
			var out []cluster.Command
			out, c = c.Steps(duties, reports, at(now), ttl)
			got := ""
			for _, cmd := range out {
				got += string(cmd.(cluster.Started).Partition)
			}
			if got != want {
				t.Errorf("TTL %s, at %s: it says %q, want %q", ttl, now, got, want)
			}
		}
		look(0, "", "a", "b", "calm", "d")
		look(1, "", "a", "calm", "d")
		look(2, "", "a", "b", "calm", "d")
		look(limit-1, "", "a", "b", "calm", "d")
		look(limit, "ad", "a", "b", "calm", "d")
		look(limit+1, "a", "a", "b", "calm", "d") // another run of d
		look(limit+2, "ab", "a", "b", "calm", "d")
		look(2*limit+1, "abd", "a", "b", "calm", "d")
		look(2*limit+2, "")
	}
}

// TestWorkOfAMember: a new version of the assignment is made where the value asks for another run, and only then; the
// steps wait for the supervisor, and are quiet while nothing changes.
func TestWorkOfAMember(t *testing.T) {
	t.Parallel()
	l := &log{}
	l.enter(cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1"})
	l.settle()
	c := member.NewCore(member.Params{Member: "a"}, member.Confirm)
	c.Is, c.Joined = member.PhaseMember, true
	var w Work
	assign := func(what string, version uint64, grants int) {
		t.Helper()
		w.Assign(&c, l.v)
		if g := c.Given; g.Version != version || len(g.Grants) != grants || g.Index != 0 && g.Index > l.v.Index() {
			t.Errorf("%s: version %d with %d grants, want %d with %d", what, g.Version, len(g.Grants), version, grants)
		}
	}
	steps := func(what string, want int) {
		t.Helper()
		if got := w.Steps(&c); len(got) != want {
			t.Errorf("%s: it says %v, want %d commands", what, got, want)
		}
	}
	assign("at first", 1, 0)
	assign("again", 1, 0)
	l.enter(cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	l.settle()
	assign("a job", 2, 1)
	l.enter(cluster.Configure{Retention: 9})
	assign("what concerns nobody here", 2, 1)
	token := c.Given.Grants[0].Token
	c.Reports = []protocol.Report{{Partition: "x", Token: token, State: protocol.RunFinished}}
	steps("before the supervisor has heard of it", 0)
	c.Reported = 2
	steps("it has ended", 1)
	steps("while that is not in the value", 1)
	c.Reports = []protocol.Report{{Partition: "x", Token: token}}
	steps("it runs", 0)
	if !c.Silent {
		t.Error("it would look again though there is nothing to say")
	}
	c.Reports[0].State = protocol.RunFinished
	steps("while nothing is to be said", 0)
	w.Again()
	if assign("in another life", 2, 1); c.Silent || len(w.Duties) != 1 {
		t.Errorf("silent %t, with duties %s", c.Silent, fmt.Sprint(w.Duties))
	}
}
