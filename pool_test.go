package rota_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol/sync"
	"github.com/rota-run/rota/store/memory"
)

// Under sync a pool and a flow are refused when they are submitted, by the member and by a client, and the error says
// what to try.
func TestSyncRefusesPoolsAndFlows(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		s := memory.New()
		work, told := runs("work")
		in := rota.NewInput("in", rota.Input[struct{}, int]{Read: func(context.Context, *rota.Grant, struct{}, []byte,
			*rota.Sender[int]) ([]byte, bool, error) {
			return nil, true, nil
		}})
		out := rota.NewOutput("out",
			rota.Output[struct{}, int]{Write: func(context.Context, *rota.Grant, struct{}, []int) error { return nil }})
		m := joinAs(t, ctx, s, rota.Config{Member: "a", Types: []rota.Type{work, in, out}, Slots: 3,
			Protocol: sync.Protocol{}})
		c, err := rota.Open(s.Open(), rota.ClientOptions{Protocol: sync.Protocol{}})
		must.Succeed(t, err)
		defer c.Close(ctx)
		_, err = m.SubmitFile(ctx, "flow.yaml",
			[]byte("tasks: [{name: in, type: in}, {name: out, type: out, from: in}]"))
		pool := rota.Task{Type: "work", Spread: rota.Pool}
		for what, err := range map[string]error{"a flow": err, "a pool": m.Submit(ctx, "some", pool),
			"a client's pool": c.Submit(ctx, "other", pool)} { // order-free: each alone
			if !errors.Is(err, rota.ErrRefused) || !strings.Contains(err.Error(),
				"no pools of slots: use --protocol replica") {
				t.Errorf("%s: %v", what, err)
			}
		}
		must.Succeed(t, m.Submit(ctx, "one", rota.Task{Type: "work"}))
		expect(t, ctx, told, "start a")
	})
}
