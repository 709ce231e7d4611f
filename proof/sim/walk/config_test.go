package walk_test

import (
	"testing"

	"github.com/rota-run/rota/proof/sim/walk"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []walk.Config{{}, {Members: 10, Partitions: 1}, {Members: 1},
		{Members: 1, Partitions: 1, Faults: walk.Faults{walk.Leaves: -1}}} {
		if c.Check() == nil {
			t.Errorf("%+v was let through", c)
		}
	}
}
