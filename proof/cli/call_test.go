package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/server"
)

// pong is what the function ping answers.
type pong struct {
	Member  string `json:"member"`
	Version string `json:"version"`
	AtMS    int64  `json:"at_ms"`
	Text    string `json:"text"`
}

// called is what rota function call prints as JSON.
type called struct {
	State    string `json:"state"`
	Error    string `json:"error"`
	Attempts int64  `json:"attempts"`
}

func TestCallPing(t *testing.T) {
	p := newPlace(t)
	p.start("idle", "tasks")
	p.joined("idle")
	p.says("function call ping", exitFailed, "none has any", "try: rota run --slots")
	id, stderr, code := p.rota("function", "call", "ping", "--arg", `{"text":"later"}`, "--detach", "--store", p.store)
	if id = strings.TrimSpace(id); code != exitOK || id == "" ||
		!strings.Contains(stderr, "no member has the function ping now") ||
		!strings.Contains(stderr, "rota function wait "+id) {
		t.Fatalf("detached: exit %d, %q, %s", code, id, stderr)
	}
	doomed := strings.TrimSpace(p.says("function call nothing --detach", exitOK))
	p.start("m1", "tasks", "--slots", "2")
	out, stderr, code := p.rota("function", "wait", id, "--store", p.store)
	var answer pong
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != exitOK || answer.Member != "m1" ||
		answer.Text != "later" || answer.Version != p.version() || answer.AtMS == 0 {
		t.Errorf("attached: exit %d, %s, %s", code, out, stderr)
	}
	p.says("function wait "+id, exitFailed, "collected")
	p.says("function call pong", exitFailed, "members have: ping")
	p.says("function wait "+doomed+" --wait 50ms", exitFailed, "goes on")
	p.says("function cancel "+doomed, exitOK)
	var c called
	out = p.says("function wait "+doomed+" -o json", exitFailed)
	if err := json.Unmarshal([]byte(out), &c); err != nil || c.State != "cancelled" {
		t.Errorf("cancelled: %s", out)
	}
	out = p.says("function call ping --arg 7 -o json", exitFailed)
	if err := json.Unmarshal([]byte(out), &c); err != nil || c.State != "failed" || c.Attempts != 1 ||
		!strings.Contains(c.Error, "decode the argument") {
		t.Errorf("bad argument: %s", out)
	}
}

// Calls need nothing of a store that only some of them have.
func TestCallsOnServers(t *testing.T) {
	const calls = 500
	double := rota.NewFunc("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	onServers(t, func(p *place, srv *server.Server) {
		t := p.t
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // for all calls
		defer cancel()
		open := func() rota.Store {
			s := must.Get(srv.Open(ctx, p.name, false))(t)
			t.Cleanup(func() { s.Close() })
			return s
		}
		for _, name := range []string{"a", "b"} {
			m, err := rota.Join(ctx, rota.Config{Member: name, Store: open(), TTL: 10 * time.Second, Slots: 16,
				Functions: []rota.Function{double}})
			must.Succeed(t, err)
			defer m.Leave(context.WithoutCancel(ctx))
		}
		look := open()
		c := must.Get(rota.Open(look, rota.ClientOptions{}))(t)
		began, n := time.Now(), 0
		for got, err := range double.Map(ctx, c, func(yield func(int) bool) {
			for i := 0; i < calls && yield(i); i++ {
			}
		}, 100) {
			if err != nil || got != 2*n {
				t.Fatalf("after %d calls and %s: got %d, %v, want %d", n, time.Since(began), got, err, 2*n)
			}
			n++
		}
		t.Logf("%d calls in %s", n, time.Since(began))
		c.Close(ctx)
		if n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
		await(t, "no document is left", func() bool { // a list may be behind
			left, err := look.List(ctx, "call/")
			return err == nil && len(left) == 0
		})
	})
}
