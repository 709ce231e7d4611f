package cli_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
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
	var plan view.Plan
	must.Succeed(t, json.Unmarshal([]byte(p.says("member plan a -o json", exitOK)), &plan))
	if plan.Tasks != 9 || len(plan.Moves) < 2 || plan.Ends != 1 || len(plan.Waits) != 1 || plan.Waits[0].Task != "gpu" ||
		len(plan.Slots) != 1 || plan.Slots[0] != (view.PlanSlots{Task: "pool/a", Before: 3, After: 1}) {
		t.Errorf("got %+v", plan)
	}
	p.says("member plan a", exitOK, fmt.Sprintf("would move %d of 9 tasks: b +%d", len(plan.Moves), len(plan.Moves)), "would end: 1 partition",
		"! would wait  gpu  labels: gpu=yes", "slots of pool/a: 3 → 1")
	before := p.shares(12)
	p.says("member plan a b", exitOK, "no member would be left")
	if after := p.shares(12); after != before {
		t.Errorf("a plan changed something: %s, then %s", before, after)
	}
	p.says("member plan nobody", exitFailed, "no such member")
	p.says("member plan", exitUsage, "which member")
}
