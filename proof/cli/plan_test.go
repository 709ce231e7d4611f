package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/view"
)

func TestPlanWithoutAMember(t *testing.T) {
	p := newPlace(t)
	p.noops(6)
	p.task("gpu.yaml", "type: noop\nlabels: {gpu: \"yes\"}\n")
	p.task("each.yaml", "type: noop\nspread: every\n")
	p.write("pool.yaml", "tasks:\n- {name: a, type: noop}\n")
	p.start("a", "--slots", "2", "--label", "gpu=yes", "tasks")
	p.start("b", "--slots", "1", "tasks")
	p.joined("b")
	p.submit("pool.yaml")
	await(t, "all run", func() bool { return p.shares(6+1+2+3) != "" })
	out, stderr, code := p.rota("member", "plan", "a", "--store", "file:store")
	var plan view.Plan
	asJSON, _, _ := p.rota("member", "plan", "a", "--store", "file:store", "-o", "json")
	if err := json.Unmarshal([]byte(asJSON), &plan); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	if plan.Tasks != 9 || len(plan.Moves) < 2 || plan.Ends != 1 || len(plan.Waits) != 1 || plan.Waits[0].Task != "gpu" ||
		len(plan.Slots) != 1 || plan.Slots[0] != (view.PlanSlots{Task: "pool/a", Before: 3, After: 1}) {
		t.Errorf("got %+v", plan)
	}
	if !containsAll(out, []string{
		fmt.Sprintf("would move %d of 9 tasks: b +%d", len(plan.Moves), len(plan.Moves)), "would end: 1 partition", "! would wait  gpu  labels: gpu=yes", "slots of pool/a: 3 → 1",
	}) {
		t.Errorf("got %s", out)
	}
	before := p.shares(12)
	if out, _, _ := p.rota("member", "plan", "a", "b", "--store", "file:store"); !strings.Contains(out, "no member would be left") {
		t.Errorf("got %s", out)
	}
	if after := p.shares(12); after != before {
		t.Errorf("a plan changed something: %s, then %s", before, after)
	}
	if _, stderr, code := p.rota("member", "plan", "nobody", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "no such member") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, stderr, code := p.rota("member", "plan", "--store", "file:store"); code != exitUsage || !strings.Contains(stderr, "which member") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
