package rota_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

type order struct{ ID string }

// fitTypes are an input and stages of several Go types.
func fitTypes() []rota.Type {
	type none struct{}
	stage := func(context.Context, *rota.Grant, none, []order, *rota.Sender[string]) error { return nil }
	return []rota.Type{
		rota.NewInput("orders", rota.Input[none, order]{Read: func(context.Context, *rota.Grant, none, []byte,
			*rota.Sender[order]) ([]byte, bool, error) {
			return nil, true, nil
		}}),
		rota.NewStage("name", rota.Stage[none, order, string]{Do: stage}),
		rota.NewStage("empty", rota.Stage[none, order, string]{}),
		rota.NewKeyed("keep", rota.Keyed[none, order, order, int]{Do: func(context.Context, *rota.Grant, none, *int,
			[]order, *rota.Sender[order]) error {
			return nil
		}}),
		rota.NewOutput("write",
			rota.Output[none, order]{Write: func(context.Context, *rota.Grant, none, []order) error { return nil }}),
	}
}

// What cannot be a flow is refused when it is submitted, with its place in the file and what to do.
func TestFlowsThatDoNotFit(t *testing.T) {
	m, err := rota.Join(t.Context(), rota.Config{Member: "m", Store: memory.New().Open(), Slots: 4, Types: fitTypes()})
	must.Succeed(t, err)
	defer func() {
		if err := m.Leave(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	read := "- {name: read, type: orders}\n"
	for _, c := range []struct{ name, tasks, place, want string }{
		{"an edge from nowhere", read + "- {name: a, type: name, from: raed}", "3:31",
			`from: there is no task "raed" (did you mean "read"?)`},
		{"a cycle", read + "- {name: a, type: keep, keyed: true, from: [{task: read, by: ID}, {task: b, by: ID}]}\n- {name: b, type: keep, keyed: true, from: {task: a, by: ID}}", "", "from: the tasks take from each other: a → b → a"},
		{"Go types that differ", read + "- {name: a, type: name, from: read}\n- {name: b, type: write, from: a}",
			"4:32", "from: task a puts out string, and type write takes github.com/rota-run/rota_test.order"},
		{"a function that is missing", read + "- {name: a, type: empty, from: read}", "", "its function is missing"},
		{"a key that is missing", read + "- {name: a, type: keep, keyed: true, from: read}", "3:44",
			"the task is keyed, and what it takes from read has no key"},
		{"keyed that is missing", read + "- {name: a, type: keep, from: {task: read, by: ID}}", "3:3",
			"type keep keeps state by key, and keyed is missing (keyed: true)"},
		{"keyed, of a type without state", read + "- {name: a, type: name, keyed: true, from: {task: read, by: ID}}",
			"3:25", "keyed: type name keeps no state"},
		{"keyed, of an input", "- {name: read, type: orders, keyed: true}\n- {name: a, type: write, from: read}",
			"2:30", "keyed: only a task that takes segments"},
		{"shards that differ", read +
			"- {name: more, type: orders}\n- {name: a, type: keep, keyed: true, from: [{task: read, by: ID}, {task: more, by: ID, shards: 2}]}", "4:", "has other shards than"},
	} {
		_, err := m.SubmitFile(t.Context(), "fit.yaml", []byte("tasks:\n"+c.tasks+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fit.yaml:"+c.place) {
			t.Errorf("%s: %v\nwant at %s: %s", c.name, err, c.place, c.want)
		}
	}
}
