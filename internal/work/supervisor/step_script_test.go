package supervisor_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
)

// TestStepScripts runs the scripts in testdata/step; -rewrite writes the present behaviour.
func TestStepScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/step", func(t *testing.T, path string) {
		t.Parallel()
		sc := &script{t: t, lease: seconds("60s")}
		datadriven.RunTest(t, path, sc.run)
	})
}

type script struct {
	t     *testing.T
	state *supervisor.State
	now   protocol.Instant
	lease protocol.Instant
	specs map[string]*cluster.TaskSpec
}

func (sc *script) run(t *testing.T, d *datadriven.TestData) string {
	arg := func(key, byDefault string) string {
		for _, a := range d.CmdArgs {
			if a.Key == key && len(a.Vals) > 0 {
				return strings.Join(a.Vals, ",")
			}
		}
		return byDefault
	}
	sc.now = max(sc.now, seconds(arg("now", "0s")))
	var e supervisor.Event
	switch d.Cmd {
	case "init":
		sc.state = supervisor.NewState(supervisor.StepConfig{Member: "m1", Seed: 1,
			Types: []supervisor.StepType{{Name: "x"}, {Name: "two", MaxRuns: 2}}})
		sc.specs = map[string]*cluster.TaskSpec{}
		return ""
	case "assign":
		sc.lease = seconds(arg("lease", time.Duration(sc.lease).String()))
		v, _ := strconv.ParseUint(arg("version", "1"), 10, 64)
		e = supervisor.Assigned{Now: sc.now, Assignment: protocol.Assignment{Version: v, ValidUntil: sc.lease,
			Grants: sc.grants(d.Input)}}
	case "lease":
		e = supervisor.Lease{Now: sc.now, Until: seconds(arg("until", "0s"))}
	case "tick":
		e = supervisor.Tick{Now: sc.now}
	case "shutdown":
		e = supervisor.Shutdown{Now: sc.now}
	case "exited":
		token, _ := strconv.ParseUint(arg("token", "1"), 10, 64)
		o := map[string]supervisor.Outcome{"finished": supervisor.Finished, "failed": supervisor.Failed,
			"stopped": supervisor.Stopped}[arg("outcome", "stopped")]
		e = supervisor.Exited{Now: sc.now, Partition: cluster.PartitionID(arg("p", "")), Token: cluster.Token(token),
			Outcome: o,
			Message: arg("message", ""), RanFor: time.Duration(seconds(arg("ran", "0s")))}
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	var b strings.Builder
	for _, fx := range supervisor.Step(sc.state, e) {
		fmt.Fprintln(&b, show(fx))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// grants reads lines such as: a token=1 type=x attempt=0 from=m2 cause=left def={...}
func (sc *script) grants(input string) []*protocol.Grant {
	var out []*protocol.Grant
	for line := range strings.Lines(input) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		g := &protocol.Grant{Partition: cluster.PartitionID(f[0]), Token: 1}
		spec := cluster.TaskSpec{Type: "x"}
		for _, kv := range f[1:] {
			k, v, _ := strings.Cut(kv, "=")
			n, _ := strconv.ParseInt(v, 10, 64)
			switch k {
			case "token":
				g.Token = cluster.Token(n)
			case "attempt":
				g.Attempt = n
			case "type":
				spec.Type = v
			case "def":
				spec.Definition = []byte(v)
			case "from":
				g.From = cluster.MemberID(v)
			case "cause":
				g.Cause = v
			default:
				sc.t.Fatalf("unknown field %q", k)
			}
		}
		g.Spec = &spec
		out = append(out, g)
	}
	return out
}

func seconds(s string) protocol.Instant {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return protocol.Instant(d)
}

// show is an effect as one line.
func show(fx supervisor.Effect) string {
	switch fx := fx.(type) {
	case supervisor.Start:
		again := map[bool]string{true: "", false: " again"}[fx.First]
		return fmt.Sprintf("start %s token=%d attempt=%d def=%s%s", fx.Grant.Partition, fx.Grant.Token,
			fx.Grant.Attempt, fx.Grant.Spec.Definition, again)
	case supervisor.Stop:
		return fmt.Sprintf("stop %s token=%d cause=%v", fx.Partition, fx.Token, fx.Cause)
	case supervisor.Abandon:
		return fmt.Sprintf("abandon %s token=%d", fx.Partition, fx.Token)
	case supervisor.Journal:
		r := fx.Record
		return fmt.Sprintf("journal %s %s token=%d %s", r.Kind, r.Partition, r.Token, r.Message)
	case supervisor.WakeAt:
		return fmt.Sprintf("wake at %v", time.Duration(fx.At))
	case supervisor.Ended:
		return "ended"
	case supervisor.Report:
		return fmt.Sprintf("report v%d%s", fx.Version, showReports(fx.Reports))
	}
	return fmt.Sprintf("unknown effect %T", fx)
}

func showReports(reports []protocol.Report) string {
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, " %s@%d:%s", r.Partition, r.Token, [...]string{"active", "finished", "failed"}[r.State])
		if r.State != protocol.RunActive {
			fmt.Fprintf(&b, "(%d)", r.Attempt)
		}
		if r.Fresh {
			b.WriteString("fresh")
		}
	}
	return b.String()
}
