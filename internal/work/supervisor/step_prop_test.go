package supervisor_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
)

// world plays the shell and the protocol for Step and checks its promises after each step.
type world struct {
	t       *rapid.T
	state   *supervisor.State
	now     protocol.Instant
	lease   protocol.Instant
	version uint64
	grants  map[cluster.PartitionID]*protocol.Grant
	active  map[cluster.PartitionID]*activeRun
	reports map[cluster.PartitionID]protocol.Report
	told    uint64
	over    bool // Shutdown was said
	ended   bool
	log     string // all effects, for the comparison of two runs
}

type activeRun struct {
	token    cluster.Token
	typ      string
	stopping bool
	left     bool
	keep     bool
}

var propDefinitions = []string{"", `{"every_ms":5}`, `{"on_store_loss":"keep"}`}

func newWorld(t *rapid.T) *world {
	return &world{t: t, grants: map[cluster.PartitionID]*protocol.Grant{}, active: map[cluster.PartitionID]*activeRun{},
		reports: map[cluster.PartitionID]protocol.Report{},
		state: supervisor.NewState(supervisor.StepConfig{Member: "m1",
			Types: []supervisor.StepType{{Name: "x"}, {Name: "two", MaxRuns: 2}}})}
}

func (w *world) step(events ...supervisor.Event) {
	reported := 0
	for _, fx := range supervisor.Step(w.state, events...) {
		w.log += show(fx) + "\n"
		switch fx := fx.(type) {
		case supervisor.Start:
			w.started(fx)
		case supervisor.Stop:
			r := w.active[fx.Partition]
			if r == nil || r.token != fx.Token || r.stopping {
				w.t.Fatalf("%s: no such run, or stopped twice", show(fx))
			}
			r.stopping = true
		case supervisor.Abandon:
			w.active[fx.Partition].left = true
		case supervisor.Report:
			reported++
			w.told = fx.Version
			clear(w.reports)
			if !slices.IsSortedFunc(fx.Reports,
				func(a, b protocol.Report) int { return compare(a.Partition, b.Partition) }) {
				w.t.Fatalf("reports are not sorted: %+v", fx.Reports)
			}
			for _, r := range fx.Reports {
				w.reports[r.Partition] = r
			}
		case supervisor.Ended:
			w.ended = true
		}
	}
	if reported > 1 {
		w.t.Fatalf("%d reports in one step", reported)
	}
	w.check()
}

func compare(a, b cluster.PartitionID) int {
	if a < b {
		return -1
	}
	return 1
}

func (w *world) started(fx supervisor.Start) {
	g, ok := w.grants[fx.Grant.Partition]
	switch {
	case w.active[fx.Grant.Partition] != nil:
		w.t.Fatalf("%s: two runs at once", show(fx))
	case !ok || g.Token != fx.Grant.Token || g.Attempt != fx.Grant.Attempt || g.Spec.Type != fx.Grant.Spec.Type:
		w.t.Fatalf("%s: not what is assigned", show(fx))
	case w.now >= w.lease:
		w.t.Fatalf("%s: lease ended at %v, it is %v", show(fx), w.lease, w.now)
	case w.over:
		w.t.Fatalf("%s: after Shutdown", show(fx))
	}
	w.active[g.Partition] = &activeRun{token: g.Token, typ: g.Spec.Type,
		keep: string(g.Spec.Definition) == propDefinitions[2]}
}

func (w *world) check() {
	two := 0
	for p, r := range w.active {
		rep, ok := w.reports[p]
		if !ok || rep.State != protocol.RunActive || rep.Token != r.token {
			w.t.Fatalf("%s runs under token %d, reported is %+v", p, r.token, rep)
		}
		g, assigned := w.grants[p]
		wanted := assigned && g.Token == r.token && !w.over && (r.keep || w.now < w.lease)
		if !wanted && !r.stopping {
			w.t.Fatalf("%s must not run under token %d and was not stopped (assigned %v)", p, r.token, assigned)
		}
		if r.typ == "two" {
			two++
		}
	}
	for p, rep := range w.reports {
		if _, assigned := w.grants[p]; !assigned && w.active[p] == nil {
			w.t.Fatalf("%s is reported %+v, but neither assigned nor running", p, rep)
		}
	}
	if two > 2 {
		w.t.Fatalf("%d runs of a type that allows 2", two)
	}
	if w.told != w.version {
		w.t.Fatalf("version %d was taken in, %d told", w.version, w.told)
	}
}

func (w *world) assign() {
	w.version++
	w.say()
}

func (w *world) say() {
	var grants []*protocol.Grant
	for _, p := range slices.Sorted(maps.Keys(w.grants)) {
		grants = append(grants, w.grants[p])
	}
	w.step(supervisor.Assigned{Now: w.now, Assignment: protocol.Assignment{Version: w.version, ValidUntil: w.lease,
		Grants: grants}})
}

// change makes a random change of the grants.
func (w *world) change() {
	p := cluster.PartitionID(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(w.t, "partition"))
	was, ok := w.grants[p]
	g := &protocol.Grant{Partition: p, Token: cluster.Token(w.version + 1)}
	if ok {
		*g = *was
	}
	switch what := rapid.IntRange(0, 4).Draw(w.t, "what"); {
	case !ok || what == 0:
		*g = protocol.Grant{Partition: p, Token: cluster.Token(w.version + 1)}
		g.Spec = &cluster.TaskSpec{Type: rapid.SampledFrom([]string{"x", "two", "unknown"}).Draw(w.t, "type")}
	case what == 1:
		delete(w.grants, p)
		return
	case what == 2:
		g.Attempt = int64(rapid.IntRange(0, 3).Draw(w.t, "attempt"))
	default:
		spec := *g.Spec
		spec.Definition = []byte(rapid.SampledFrom(propDefinitions).Draw(w.t, "definition"))
		g.Spec = &spec
	}
	w.grants[p] = g
}

// exit ends a run as a random outcome.
func (w *world) exit(p cluster.PartitionID, o supervisor.Outcome) {
	r := w.active[p]
	delete(w.active, p)
	w.step(supervisor.Exited{Now: w.now, Partition: p, Token: r.token, Outcome: o, Message: "m",
		RanFor: time.Duration(len(w.log)) * time.Second})
}

func (w *world) random() {
	switch rapid.IntRange(0, 5).Draw(w.t, "event") {
	case 0, 1:
		w.change()
		w.assign()
	case 2:
		if running := slices.Sorted(maps.Keys(w.active)); len(running) > 0 {
			w.exit(rapid.SampledFrom(running).Draw(w.t, "exit"),
				supervisor.Outcome(rapid.IntRange(0, 2).Draw(w.t, "outcome")))
		}
	case 3:
		w.now += protocol.Instant(rapid.Int64Range(0, int64(20*time.Second)).Draw(w.t, "pass"))
		w.step(supervisor.Tick{Now: w.now})
	case 4:
		w.lease = w.now.Add(time.Duration(rapid.Int64Range(-1, int64(20*time.Second)).Draw(w.t, "lease")))
		w.step(supervisor.Lease{Now: w.now, Until: w.lease})
	case 5:
		w.lease = w.now.Add(time.Duration(rapid.Int64Range(0, int64(60*time.Second)).Draw(w.t, "lease")))
		w.say()
	}
}

// settle lets the protocol count failures, time pass and stopped runs return, until all is as it should be.
func (w *world) settle() {
	for range 60 {
		w.now += protocol.Instant(10 * time.Minute)
		w.lease = w.now.Add(time.Hour)
		for _, p := range slices.Sorted(maps.Keys(w.grants)) {
			next := *w.grants[p]
			g := &next
			if rep := w.reports[p]; rep.State == protocol.RunFailed && rep.Token == g.Token &&
				rep.Attempt == g.Attempt {
				g.Attempt++
				if rep.Fresh {
					g.Attempt = 1
				}
				w.grants[p] = g
			}
		}
		w.assign()
		for _, p := range slices.Sorted(maps.Keys(w.active)) {
			if r := w.active[p]; r.stopping {
				w.exit(p, supervisor.Stopped)
			} else if r.typ == "two" { // makes room
				w.exit(p, supervisor.Finished)
			}
		}
	}
	for p, g := range w.grants {
		r := w.active[p]
		fine := r != nil && r.token == g.Token && r.typ == g.Spec.Type
		if rep, ok := w.reports[p]; ok && !fine {
			fine = rep.State == protocol.RunFinished && rep.Token == g.Token || g.Spec.Type == "unknown"
		}
		if !fine {
			w.t.Fatalf("%s is assigned under token %d and never ran; it runs %+v, reported is %+v", p, g.Token, r,
				w.reports[p])
		}
	}
	for p := range w.active {
		if _, ok := w.grants[p]; !ok {
			w.t.Fatalf("%s still runs", p)
		}
	}
}

func (w *world) shutdown() {
	w.over = true
	w.step(supervisor.Shutdown{Now: w.now})
	for i, p := range slices.Sorted(maps.Keys(w.active)) {
		if i%2 == 0 {
			w.exit(p, supervisor.Stopped)
		}
	}
	w.now += protocol.Instant(supervisor.DefaultGrace)
	w.step(supervisor.Tick{Now: w.now})
	if !w.ended {
		w.t.Fatalf("shutdown does not end; running: %v", w.active)
	}
}

func TestStepKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.random()
		}
		w.settle()
		w.shutdown()
	})
}

// TestStepIsDeterministic feeds the same events twice and wants the same effects, in the same order.
func TestStepIsDeterministic(t *testing.T) {
	t.Parallel()
	run := func() string {
		s := supervisor.NewState(supervisor.StepConfig{Member: "m1",
			Types: []supervisor.StepType{{Name: "x"}, {Name: "two", MaxRuns: 2}}})
		out := ""
		for i := range 200 {
			var grants []*protocol.Grant
			for p := range 40 {
				if (p*7+i*3)%11 != 0 {
					grants = append(grants, &protocol.Grant{Partition: cluster.PartitionID(fmt.Sprintf("p%02d", p)),
						Token: cluster.Token(1 + (p+i)/50),
						Spec:  &cluster.TaskSpec{Type: []string{"x", "two"}[p%2]}})
				}
			}
			now := seconds(fmt.Sprintf("%ds", i))
			events := []supervisor.Event{supervisor.Assigned{Now: now,
				Assignment: protocol.Assignment{Version: uint64(i), ValidUntil: now + protocol.Instant(1+i%3),
					Grants: grants}}}
			for p := range 40 {
				events = append(events, supervisor.Exited{Now: now,
					Partition: cluster.PartitionID(fmt.Sprintf("p%02d", (p*13)%40)), Token: cluster.Token(1 + (p+i)/50),
					Outcome: supervisor.Outcome(p % 3)})
			}
			for _, fx := range supervisor.Step(s, events...) {
				out += show(fx) + "\n"
			}
		}
		return out
	}
	if a, b := run(), run(); a != b || len(a) < 10000 {
		t.Fatalf("two runs differ, or hardly anything happened (%d and %d bytes)", len(a), len(b))
	}
}
