package node

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store/memory"
)

// The recipe for maintenance: drain, restart the machine, undrain. The member takes nothing before its undrain.
func TestADrainSurvivesARestart(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := memory.New()
		a := start(t, s, "a", nil)
		b := start(t, s, "b", nil)
		for _, id := range []string{"w", "x", "y", "z"} {
			a.submit(id, cluster.TaskSpec{Type: "stay"})
		}
		shares := func(wantA, wantB int) func() bool {
			return func() bool { return a.Status().Work.Counts.Running == wantA && b.Status().Work.Counts.Running == wantB }
		}
		drain := func(on bool) {
			t.Helper()
			if _, err := KeepDrained(t.Context(), a.c.Store, "b", on, "ann@laptop"); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Propose(t.Context(), cluster.DrainMember{Member: "b", On: on}); err != nil {
				t.Fatal(err)
			}
		}
		await(t, "both run half of it", shares(2, 2))
		drain(true)
		await(t, "a runs all", shares(4, 0))
		b.leave()
		b = start(t, s, "b", nil)
		await(t, "it is drained again", func() bool { m, _ := a.Value().Member("b"); return m.Draining })
		time.Sleep(time.Minute) // waits: in virtual time
		await(t, "a runs all still", shares(4, 0))
		drain(false)
		await(t, "both run half of it again", shares(2, 2))
		drain(true)
		await(t, "a runs all again", shares(4, 0))
		b.leave()
		if was, err := KeepDrained(t.Context(), a.c.Store, "b", false, "ann@laptop"); err != nil || !was {
			t.Fatalf("undrain while it is down: %t, %v", was, err)
		}
		b = start(t, s, "b", nil)
		await(t, "it takes its half", shares(2, 2))
	})
}
