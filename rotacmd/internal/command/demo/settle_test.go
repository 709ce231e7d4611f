package demo

import (
	"maps"
	"testing"

	"github.com/rota-run/rota/internal/node"
)

// A run that was stopped does not go on, though it had started; one that was started again does.
func TestRunning(t *testing.T) {
	t.Parallel()
	var lines []node.WitnessLine
	for _, l := range []struct {
		event, partition string
		token            uint64
	}{
		{"join", "", 1}, {"start", "x", 2}, {"start", "y", 3}, {"stop", "x", 2}, {"stop", "y", 3}, {"start", "y", 3},
		{"start", "x", 4}, {"act", "z", 5},
	} {
		lines = append(lines, node.WitnessLine{Event: l.event, Partition: l.partition, Token: l.token})
	}
	if got, want := running(lines), (map[run]bool{{"x", 4}: true, {"y", 3}: true}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
