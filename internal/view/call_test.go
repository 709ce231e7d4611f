package view_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/internal/view"
)

// TestACallSeenFromOutside has neither argument nor result; the call itself keeps them.
func TestACallSeenFromOutside(t *testing.T) {
	t.Parallel()
	c := view.Call{Listed: call.Listed{ID: "1", Record: call.Record{Arg: json.RawMessage(`"secret"`), Outcome: &call.Outcome{State: call.Done, Result: json.RawMessage(`"secret"`)}}}}
	data, err := json.Marshal(c.Outside())
	if err != nil || strings.Contains(string(data), "secret") || !strings.Contains(string(data), string(call.Done)) {
		t.Errorf("%s, %v", data, err)
	}
	if string(c.Outcome.Result) != `"secret"` {
		t.Error("the call itself has lost its result")
	}
}
