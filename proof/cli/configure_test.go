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
	p.says("cluster set --job-scheduler percentage --retention 1", exitOK, "job-scheduler  percentage", "retention      1")
	await(t, "they share by percentages", slots("3 1"))
	p.write("c.yaml", "percent: 1\ntasks:\n- {name: x, type: noop}\n")
	p.says("job submit c.yaml", exitFailed, "come to 101")
	cmd := p.command("cluster", "get", "--store", "file:store")
	if cmd.Env = append(cmd.Env, "ROTA_RETENTION=7"); cmd.Run() != nil {
		t.Error("the settings cannot be shown")
	}
	p.says("cluster get", exitOK, "retention      1") // whatever the environment said
	p.says("job stop a", exitOK)
	p.says("job stop b", exitOK)
	if out := p.says("job list", exitOK, "b  "); strings.Contains(out, "a  ") {
		t.Errorf("of the two that have ended the newer one alone is to stay: %s", out)
	}
	p.says("cluster set --retention 0", exitUsage, "below 1")
	p.says("cluster set --job-scheduler fair", exitUsage, "not a scheduler")
	if out, want := p.says("cluster get -o json", exitOK), "{\"job_scheduler\":\"percentage\",\"move_budget\":256,\"retention\":1}\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
