package rota_test

import (
	"context"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

// A pool task runs on as many slots as there are; one that needs more than there are waits; a kill gives the slots to it.
func TestAPoolTaskRunsOnSlots(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		work, told := runs("work")
		three, toldThree := runs("three")
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "a", Types: []rota.Type{work, three}, Slots: 3})
		must.Succeed(t, m.Submit(ctx, "some", rota.Task{Type: "work", Spread: rota.Pool, MaxSlots: 2}))
		expect(t, ctx, told, "start a")
		expect(t, ctx, told, "start a")
		must.Succeed(t, m.Submit(ctx, "all", rota.Task{Type: "three", Spread: rota.Pool, MinSlots: 3}))
		if why := m.Value().WhyTask("all", ""); why.Rule != "coverage" {
			t.Fatalf("it waits for %+v", why)
		}
		must.Succeed(t, m.Kill(ctx, "some"))
		for range 2 {
			expect(t, ctx, told, "stop a: "+rota.CauseKilled.Error())
		}
		for range 3 {
			expect(t, ctx, toldThree, "start a")
		}
	})
}
