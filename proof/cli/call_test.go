package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
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
	await(t, "it has joined", func() bool {
		out, _, _ := p.rota("member", "list", "--store", p.store)
		return strings.Contains(out, "idle")
	})
	if _, stderr, code := p.rota("function", "call", "ping", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "none has any") || !strings.Contains(stderr, "try: rota run --slots") {
		t.Errorf("without functions: exit %d, %s", code, stderr)
	}
	id, stderr, code := p.rota("function", "call", "ping", "--arg", `{"text":"later"}`, "--detach", "--store", p.store)
	if id = strings.TrimSpace(id); code != exitOK || id == "" || !strings.Contains(stderr, "no member has the function ping now") || !strings.Contains(stderr, "rota function wait "+id) {
		t.Fatalf("detached: exit %d, %q, %s", code, id, stderr)
	}
	doomed, _, _ := p.rota("function", "call", "nothing", "--detach", "--store", p.store)
	p.start("m1", "tasks", "--slots", "2")
	out, stderr, code := p.rota("function", "wait", id, "--store", p.store)
	var answer pong
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != exitOK || answer.Member != "m1" || answer.Text != "later" || answer.Version != p.version() || answer.AtMS == 0 {
		t.Errorf("attached: exit %d, %s, %s", code, out, stderr)
	}
	if _, stderr, code = p.rota("function", "wait", id, "--store", p.store); code != exitFailed || !strings.Contains(stderr, "collected") {
		t.Errorf("attached again: exit %d, %s", code, stderr)
	}
	if _, stderr, code = p.rota("function", "call", "pong", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "members have: ping") {
		t.Errorf("another function: exit %d, %s", code, stderr)
	}
	if _, stderr, code = p.rota("function", "wait", strings.TrimSpace(doomed), "--wait", "50ms", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "goes on") {
		t.Errorf("a call that nobody runs: exit %d, %s", code, stderr)
	}
	if _, stderr, code = p.rota("function", "cancel", strings.TrimSpace(doomed), "--store", p.store); code != exitOK {
		t.Errorf("cancel: exit %d, %s", code, stderr)
	}
	var c called
	out, _, code = p.rota("function", "wait", strings.TrimSpace(doomed), "-o", "json", "--store", p.store)
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != exitFailed || c.State != "cancelled" {
		t.Errorf("cancelled: exit %d, %s", code, out)
	}
	out, _, code = p.rota("function", "call", "ping", "--arg", "7", "-o", "json", "--store", p.store)
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != exitFailed || c.State != "failed" || c.Attempts != 1 || !strings.Contains(c.Error, "decode the argument") {
		t.Errorf("bad argument: exit %d, %s", code, out)
	}
}
