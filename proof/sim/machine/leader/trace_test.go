package leader_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine/leader"
)

// TestOneTrace runs a seed twice: the traces are the same text, so that those of two programs can be compared.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	trace := func() string {
		var b strings.Builder
		sim.Run(sim.Config{Machine: leader.Machine(), Seed: 1, Duration: 20 * time.Second, Trace: &b, TraceTo: 3000})
		return b.String()
	}
	first, second := strings.Split(trace(), "\n"), strings.Split(trace(), "\n")
	for i, line := range first {
		if second[i] != line {
			t.Fatalf("line %d is\n%s\nand then\n%s", i+1, line, second[i])
		}
	}
	if len(first) < 100 {
		t.Errorf("the trace has %d lines", len(first))
	}
}
