package tasks_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

func definition(config string) work.Definition { return work.Definition{Config: []byte(config)} }

// applyTo applies an expression to one segment, outside of any flow.
func applyTo(t *testing.T, typ work.Type, expr, segment string) error {
	t.Helper()
	config := must.Get(json.Marshal(map[string]string{"expr": expr}))(t)
	r := must.Get(typ.New(definition(string(config))))(t)
	return r.(stage.Stage).Do(context.Background(), nil, [][]byte{[]byte(segment)}, &stage.Out{})
}
