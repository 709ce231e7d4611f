package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCallPing(t *testing.T) {
	p := newPlace(t)
	p.start("idle", "tasks")
	await(t, "it has joined", func() bool {
		out, _, _ := p.rota("members", "--store", p.store)
		return strings.Contains(out, "idle")
	})
	if _, stderr, code := p.rota("call", "ping", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "none has any") || !strings.Contains(stderr, "try: rota run --slots") {
		t.Errorf("without functions: exit %d, %s", code, stderr)
	}
	id, stderr, code := p.rota("call", "ping", "--arg", `{"text":"later"}`, "--detach", "--store", p.store)
	if id = strings.TrimSpace(id); code != exitOK || id == "" || !strings.Contains(stderr, "no member has the function ping now") || !strings.Contains(stderr, "--attach "+id) {
		t.Fatalf("detached: exit %d, %q, %s", code, id, stderr)
	}
	doomed, _, _ := p.rota("call", "nothing", "--detach", "--store", p.store)
	p.start("m1", "tasks", "--slots", "2")
	out, stderr, code := p.rota("call", "--attach", id, "--store", p.store)
	var pong Pong
	if err := json.Unmarshal([]byte(out), &pong); err != nil || code != exitOK || pong.Member != "m1" || pong.Text != "later" || pong.Version != version || pong.AtMS == 0 {
		t.Errorf("attached: exit %d, %s, %s", code, out, stderr)
	}
	if _, stderr, code = p.rota("call", "--attach", id, "--store", p.store); code != exitFailed || !strings.Contains(stderr, "collected") {
		t.Errorf("attached again: exit %d, %s", code, stderr)
	}
	if _, stderr, code = p.rota("call", "pong", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "members have: ping") {
		t.Errorf("another function: exit %d, %s", code, stderr)
	}
	if _, stderr, code = p.rota("call", "--attach", strings.TrimSpace(doomed), "--wait", "50ms", "--store", p.store); code != exitFailed || !strings.Contains(stderr, "goes on") {
		t.Errorf("a call that nobody runs: exit %d, %s", code, stderr)
	}
	if _, stderr, code = p.rota("call", "--cancel", strings.TrimSpace(doomed), "--store", p.store); code != exitOK {
		t.Errorf("cancel: exit %d, %s", code, stderr)
	}
	var called Called
	out, _, code = p.rota("call", "--attach", strings.TrimSpace(doomed), "--json", "--store", p.store)
	if err := json.Unmarshal([]byte(out), &called); err != nil || code != exitFailed || called.State != "cancelled" {
		t.Errorf("cancelled: exit %d, %s", code, out)
	}
	out, _, code = p.rota("call", "ping", "--arg", "7", "--json", "--store", p.store)
	if err := json.Unmarshal([]byte(out), &called); err != nil || code != exitFailed || called.State != "failed" || called.Attempts != 1 || !strings.Contains(called.Error, "decode the argument") {
		t.Errorf("bad argument: exit %d, %s", code, out)
	}
}
