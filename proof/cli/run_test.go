package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/publish"
)

func TestFirstRunPrintsSamplesAndLeavesInOrder(t *testing.T) {
	p := newPlace(t)
	p.task("beat.yaml", "type: noop\nevery: 200ms\nconfig: {emit: true}\n")
	m := p.start("a", "tasks")
	await(t, "two samples are printed", func() bool { return strings.Count(m.Stdout.String(), "\n") >= 2 })
	for line := range strings.Lines(m.Stdout.String()) {
		var s publish.Sample
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Name != "noop.rounds" || s.Tags["member"] != "a" ||
			s.Tags["task"] != "beat" {
			t.Errorf("stdout has %q (%v), want samples of noop alone", line, err)
		}
	}
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"store file:store (new) · 1 task from tasks", "joined as the first member in",
		"samples on stdout · status: rota status --store file:store",
		"leaving: 1 task", "a left gracefully",
	} {
		if !strings.Contains(m.Stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, m.Stderr.String())
		}
	}
	out, _, code := p.rota("status", "--store", "file:store")
	if code != exitOK || !strings.Contains(out, "no member is running") {
		t.Errorf("exit %d, %q; want to be told that nobody runs", code, out)
	}
}

func TestAPIOfAMember(t *testing.T) {
	p := newPlace(t)
	p.noops(2)
	m := p.start("a", "--listen", "127.0.0.1:0", "tasks")
	address := ""
	await(t, "it says where its API is", func() bool {
		_, after, ok := strings.Cut(m.Stderr.String(), "API ")
		base, _, ok2 := strings.Cut(after, "\n")
		address = base
		return ok && ok2
	})
	get := func(path string) string {
		res, err := http.Get(address + path)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			return err.Error()
		}
		return res.Status + "\n" + string(b)
	}
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": `{"ready":true,"reasons":[],"member":"a","store":"file:/`,
		"/v1/status": `"running":2`, "/v1/members": `"address":"127.0.0.1:`,
		"/v1/tasks": `"task":"t00"`, "/v1/journal": "member-joined",
		"/metrics": `rota_member_joined{rota_member="a"} 1`, "/v1/nope": "404",
	} {
		await(t, path+" tells", func() bool { return strings.Contains(get(path), want) })
	}
}
