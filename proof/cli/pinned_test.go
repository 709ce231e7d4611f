package cli_test

import (
	"fmt"
	"strings"
	"testing"
)

// tokens are those of the tasks whose names begin so, and how many each member has.
func (p *place) tokens(prefix string) (tokens map[string]uint64, owned map[string]int) {
	p.t.Helper()
	tokens, owned = map[string]uint64{}, map[string]int{}
	for _, t := range p.tasks() {
		if strings.HasPrefix(t.Task, prefix) {
			tokens[t.Task] = t.Token
			owned[t.Owner]++
		}
	}
	return tokens, owned
}

// TestPinned: where the move budget is 0 a newcomer gets only what is new, and the rest when it is asked for. A command
// that runs stays even then.
func TestPinned(t *testing.T) {
	p := newPlace(t)
	for _, m := range []string{"a", "b", "c"} {
		p.start(m, "--allow-exec", "/bin/sleep", "tasks")
		p.joined(m)
	}
	p.noops(6)
	for i := range 6 {
		p.task(fmt.Sprintf("c%d.yaml", i), "type: command\nconfig: {argv: [/bin/sleep, \"600\"]}\n")
	}
	p.awaitShares(12, "a:4 b:4 c:4")
	p.says("cluster set --move-budget 0", exitOK)
	before, _ := p.tokens("")
	for _, m := range []string{"d", "e"} {
		p.start(m, "--allow-exec", "/bin/sleep", "tasks")
		p.joined(m)
	}
	p.task("tx.yaml", "type: noop\nevery: 1s\n")
	p.task("ty.yaml", "type: noop\nevery: 1s\n")
	p.awaitShares(14, "a:4 b:4 c:4 d:1 e:1")
	after, _ := p.tokens("")
	for task, token := range before { // order-free: each by itself
		if after[task] != token {
			t.Errorf("%s had token %d, and has %d: it has moved", task, token, after[task])
		}
	}
	p.says("cluster rebalance", exitOK)
	await(t, "the periodic ones are even", func() bool {
		_, owned := p.tokens("t")
		return len(owned) == 5 && max(owned["a"], owned["b"], owned["c"], owned["d"], owned["e"]) == 2
	})
	commands, _ := p.tokens("c")
	for task, token := range commands { // order-free: each by itself
		if before[task] != token {
			t.Errorf("the command %s was begun again", task)
		}
	}
	p.says("events --kind asked", exitOK, "rebalance", "configure move_budget=0")
	p.says("cluster set --move-budget 100", exitOK)
	p.says("cluster rebalance", exitFailed, "nothing is pinned", "--move-budget 0")
}
