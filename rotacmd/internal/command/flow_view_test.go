package command

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
)

// A flow is drawn when it has changed, at most once a second but for its end, with the rates since the last picture.
func TestFlowIsDrawn(t *testing.T) {
	t.Parallel()
	flow := func(in, pending uint64) *view.Flow {
		return &view.Flow{Unit: view.UnitSegments, Tasks: []view.FlowTask{
			{Task: "read", Out: in + pending, State: view.FlowComplete},
			{Task: "count", From: []string{"read"}, Slots: 3, In: in, Pending: pending, State: view.FlowDraining},
		}}
	}
	var v flowView
	at := time.Unix(1_800_000_000, 0)
	draw := func(f *view.Flow, after time.Duration, ended bool) string {
		t.Helper()
		var b strings.Builder
		must.Succeed(t, v.draw(&b, f, at.Add(after), ended))
		return b.String()
	}
	first := draw(flow(0, 100), 0, false)
	if !containsAll(first, []string{"FLOW", "SLOTS", "RATE", "count  read  3", "░░░░ 0 %"}) ||
		strings.Contains(first, "/s") {
		t.Errorf("the first picture is\n%s", first)
	}
	if again := draw(flow(10, 90), 500*time.Millisecond, false); again != "" {
		t.Errorf("half a second later it is drawn again:\n%s", again)
	}
	if second := draw(flow(50, 50), 2*time.Second, false); !containsAll(second,
		[]string{"25/s", "██████████░░░░░░░░░░ 50 %"}) {
		t.Errorf("the second picture is\n%s", second)
	}
	if same := draw(flow(50, 50), 9*time.Second, false); same != "" {
		t.Errorf("nothing has changed, and it is drawn:\n%s", same)
	}
	if last := draw(flow(100, 0), 9100*time.Millisecond, true); !containsAll(last, []string{"100 %", "7/s"}) {
		t.Errorf("the last picture is\n%s", last)
	}
}

// TestAFlowThatGoesOnIsTold: with -o json a job is printed again when only the numbers of its flow have changed.
func TestAFlowThatGoesOnIsTold(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o, f := &observer{env: env{stdout: &out}, json: true}, &follower{job: "etl", json: true}
	for _, in := range []uint64{1, 1, 2} {
		must.Succeed(t, f.tell(o,
			&view.Job{Job: "etl", Flow: &view.Flow{Tasks: []view.FlowTask{{Task: "count", In: in}}}}))
	}
	if n := strings.Count(out.String(), `"job":"etl"`); n != 2 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}
