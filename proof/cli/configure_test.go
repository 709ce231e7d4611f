package cli_test

import (
	"fmt"
	"strings"
	"testing"
)

// The settings of the cluster: how jobs share slots, and how many that have ended stay.
func TestConfigure(t *testing.T) {
	p := newPlace(t)
	p.write("a.yaml", "percent: 75\ntasks:\n- {name: x, type: noop}\n")
	p.write("b.yaml", "percent: 25\ntasks:\n- {name: x, type: noop}\n")
	p.start("a", "--slots", "4", "tasks")
	p.joined("a")
	p.submit("a.yaml")
	p.submit("b.yaml")
	slots := func(want string) func() bool {
		return func() bool {
			return fmt.Sprint(len(p.job("a").Tasks[0].Slots), len(p.job("b").Tasks[0].Slots)) == want
		}
	}
	await(t, "they share evenly", slots("2 2"))
	out, stderr, code := p.rota("cluster", "set", "--job-scheduler", "percentage", "--retention", "1", "--store", "file:store")
	if code != exitOK || !containsAll(out, []string{"job-scheduler  percentage", "retention      1"}) {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
	await(t, "they share by percentages", slots("3 1"))
	p.write("c.yaml", "percent: 1\ntasks:\n- {name: x, type: noop}\n")
	if _, stderr, code := p.rota("job", "submit", "c.yaml", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "come to 101") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	cmd := p.command("cluster", "get", "--store", "file:store")
	if cmd.Env = append(cmd.Env, "ROTA_RETENTION=7"); cmd.Run() != nil {
		t.Error("the settings cannot be shown")
	}
	if out, _, _ := p.rota("cluster", "get", "--store", "file:store"); !strings.Contains(out, "retention      1") {
		t.Errorf("the environment changed the settings of the cluster: %s", out)
	}
	for _, job := range []string{"a", "b"} {
		if _, stderr, code := p.rota("job", "stop", job, "--store", "file:store"); code != exitOK {
			t.Fatal(stderr)
		}
	}
	if out, _, _ := p.rota("job", "list", "--store", "file:store"); strings.Contains(out, "a  ") || !strings.Contains(out, "b  ") {
		t.Errorf("of the two that have ended the newer one alone is to stay: %s", out)
	}
	if _, stderr, code := p.rota("cluster", "set", "--retention", "0", "--store", "file:store"); code != exitUsage || !strings.Contains(stderr, "below 1") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, stderr, code := p.rota("cluster", "set", "--job-scheduler", "fair", "--store", "file:store"); code != exitUsage || !strings.Contains(stderr, "not a scheduler") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	out, _, _ = p.rota("cluster", "get", "-o", "json", "--store", "file:store")
	if want := "{\"job_scheduler\":\"percentage\",\"move_budget\":256,\"retention\":1}\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
