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
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Name != "noop.rounds" || s.Tags["member"] != "a" || s.Tags["task"] != "beat" {
			t.Errorf("stdout has %q (%v), want samples of noop alone", line, err)
		}
	}
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"store file:store (new) · 1 task from tasks", "joined as the first member in", "samples on stdout · status: rota status --store file:store",
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

// The target of a no-gap move stands still, so that the first signal alone would wait for five minutes.
func TestASecondSIGTERMEndsAtOnce(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"x.yaml", "y.yaml"} {
		p.task(name, "type: noop\nevery: 1s\nhandover: no-gap\n")
	}
	a := p.start("a", "tasks", "--ttl", "5m", "--drain-timeout", "5m")
	p.awaitShares(2, "a:2")
	b := p.start("b", "tasks", "--ttl", "5m")
	p.awaitShares(2, "a:1 b:1")
	p.suspend(b)
	a.signal(syscall.SIGTERM)
	await(t, "it says that it leaves", func() bool { return strings.Contains(a.Stderr.String(), "once more to end at once") })
	a.signal(syscall.SIGTERM)
	if code := a.end(); code != exitFailed || strings.Contains(a.Stderr.String(), "left gracefully") {
		t.Errorf("exit %d, want %d; it said\n%s", code, exitFailed, a.Stderr.String())
	}
}

func TestSecondProcessOfTheSameNameIsRefused(t *testing.T) {
	p := newPlace(t)
	p.noops(1)
	p.start("a", "--ttl", "9s", "tasks")
	p.awaitShares(1, "a:1")
	second := p.start("a", "--ttl", "9s", "tasks")
	if code := second.end(); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if got := second.Stderr.String(); !containsAll(got, []string{`rota: member "a" is already running in this cluster`, "try: another --member name"}) {
		t.Errorf("it said %q", got)
	}
	p.awaitShares(1, "a:1")
}

func TestReadingCommands(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"replica", "leader"} {
		t.Run(protocol, func(t *testing.T) { reads(newPlace(t), protocol) })
	}
}

func reads(p *place, protocol string) {
	t := p.t
	p.task("ok.yaml", "type: noop\nevery: 1s\n")
	p.task("gpu.yaml", "type: noop\nevery: 1s\nlabels: {gpu: \"yes\"}\n")
	p.start("a", "--protocol", protocol, "--label", "zone=x", "tasks")
	await(t, "both tasks are known", func() bool { return len(p.tasks()) == 2 })
	for args, want := range map[string][]string{
		"status":              {"members 1", "tasks 2: 1 running, 1 waiting", "! waiting", "gpu", "rota why gpu"},
		"member list":         {"MEMBER", "a", "joined", "zone=x", p.version()},
		"task list":           {"TASK", "STATE", "OWNER", "TOKEN", "SINCE", "gpu", "waiting", "ok", "running"},
		"task list --own":     {"rota.source.tasks"},
		"why gpu":             {"gpu is waiting", "labels: gpu=yes"},
		"why ok":              {"ok is running on a", "token"},
		"events":              {"member-joined", "a joined"},
		"log list":            {"prepare-join a", "submit-job gpu"},
		"log list --from 2":   {"submit-job"},
		"status -o json":      {`"members":{"total":1`, `"state":"waiting"`, `"member_list":[{"member":"a"`, `"task_list":[{"task":"gpu"`, `"state":"running","owner":"a","token":`},
		"log list -o json":    {`"said":"prepare-join a`},
		"why gpu -o json":     {`"rule":"labels: gpu=yes"`},
		"member list -o json": {`"member":"a"`, `"zone":"x"`},
		"events -o json":      {`"kind":"member-joined"`},
	} {
		got := ""
		await(t, "rota "+args+" tells", func() bool { // the journal is written behind
			out, stderr, code := p.rota(append(strings.Fields(args), "--store", "file:store")...)
			if code != exitOK {
				t.Fatalf("rota %s: exit %d: %s", args, code, stderr)
			}
			got = out
			return containsAll(out, want)
		})
		if strings.Contains(args, "-o json") && !json.Valid([]byte(strings.Split(got, "\n")[0])) {
			t.Errorf("rota %s: no JSON: %s", args, got)
		}
	}
	if _, stderr, code := p.rota("why", "nope", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, `no task "nope"`) {
		t.Errorf("exit %d, %q", code, stderr)
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
		"/healthz": "ok", "/readyz": `{"ready":true,"reasons":[],"member":"a","store":"file:/`, "/v1/status": `"running":2`, "/v1/members": `"address":"127.0.0.1:`,
		"/v1/tasks": `"task":"t00"`, "/v1/journal": "member-joined", "/metrics": `rota_member_joined{rota_member="a"} 1`, "/v1/nope": "404",
	} {
		await(t, path+" tells", func() bool { return strings.Contains(get(path), want) })
	}
}
