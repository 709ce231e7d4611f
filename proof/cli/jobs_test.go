package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
)

// job is a job as the command shows it.
func (p *place) job(id string) (job view.Job) {
	p.t.Helper()
	out, stderr, code := p.rota("job", "show", id, "--store", "file:store", "-o", "json")
	if code != exitOK {
		p.t.Fatalf("exit %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(out), &job); err != nil {
		p.t.Fatalf("%v in %s", err, out)
	}
	return job
}

// submit submits a job that has to be accepted.
func (p *place) submit(args ...string) string {
	p.t.Helper()
	_, stderr, code := p.rota(append([]string{"job", "submit", "--store", "file:store"}, args...)...)
	if code != exitOK {
		p.t.Fatalf("exit %d: %s", code, stderr)
	}
	return stderr
}

// joined waits until a member has joined.
func (p *place) joined(name string) {
	p.t.Helper()
	await(p.t, name+" has joined", func() bool {
		out, _, _ := p.rota("member", "list", "--store", p.store, "-o", "json")
		var members []view.Member
		return json.Unmarshal([]byte(out), &members) == nil &&
			slices.ContainsFunc(members, func(m view.Member) bool { return string(m.Member) == name && m.State == "joined" })
	})
}

func taskStates(j view.Job) (out []string) {
	for i := range j.Tasks {
		out = append(out, j.Tasks[i].State)
	}
	return out
}

// items is a job of two tasks with an end, one after the other.
func (p *place) items(name string, n int) {
	p.t.Helper()
	var b strings.Builder
	fmt.Fprint(&b, "tasks:\n")
	for i, task := range []string{"first", "second"} {
		fmt.Fprintf(&b, "- name: %s\n  type: witness-items\n  config: {path: %q, items: %d}\n", task, filepath.Join(p.dir, task), n)
		if i > 0 {
			fmt.Fprint(&b, "  after: first\n")
		}
	}
	p.write(name, b.String())
}

func TestAJobRunsItsTasksOneAfterAnother(t *testing.T) {
	p := newPlace(t)
	p.items("etl.yaml", 3)
	p.start("a", "--slots", "1", "--dev-types", "tasks")
	p.joined("a")
	out, stderr, code := p.rota("job", "submit", "etl.yaml", "--type", "witness-items", "--store", "file:store", "--wait", "-o", "json")
	var s struct {
		Accepted bool     `json:"accepted"`
		Known    bool     `json:"known"`
		Job      view.Job `json:"job"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	if !s.Accepted || s.Known || s.Job.State != "completed" || !slices.Equal(taskStates(s.Job), []string{"done", "done"}) {
		t.Errorf("got %+v", s)
	}
	first, second := p.firstLine("first"), p.firstLine("second")
	if first.at == 0 || second.at <= first.at || second.token <= first.token {
		t.Errorf("first began at %+v, second at %+v", first, second)
	}
	p.tells("job submit etl.yaml --type witness-items", "completed already")
	p.items("long.yaml", 250) // goes on for as long as a busy machine may take to look
	p.tells("job submit long.yaml --type witness-items --id again --wait", "again is submitted: 2 tasks", "first            running on 1 slot",
		"waiting: it starts when what it comes after is finished: first", "completed, 2 of 2 tasks done")
	p.says("job list", exitOK, "JOB", "etl", "again", "completed", "2/2")
	p.says("job show etl --follow", exitOK, "completed, 2 of 2 tasks done")
}

func (p *place) content(name string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	must.Succeed(p.t, err)
	return data
}

// began is when an item was done first, and under which token.
type began struct{ at, token int64 }

func (p *place) firstLine(name string) (b began) {
	p.t.Helper()
	data := p.content(name)
	var line struct {
		AtNS  int64 `json:"at_ns"`
		Token int64 `json:"token"`
	}
	if err := json.Unmarshal(bytes.SplitN(data, []byte("\n"), 2)[0], &line); err != nil {
		p.t.Fatalf("%v in %q", err, data)
	}
	return began{line.AtNS, line.Token}
}

func TestJobsThatDoNotComplete(t *testing.T) {
	p := newPlace(t)
	p.write("stays.yaml", "tasks:\n- {name: a, type: noop, every: 1s}\n- {name: b, type: noop, max: 1}\n")
	p.write("fails.yaml", "tasks:\n- {name: a, type: nobody.knows, retry: {attempts: 1}}\n")
	p.write("big.yaml", "coverage: required\ntasks:\n- {name: a, type: noop, min: 5}\n")
	p.start("a", "--slots", "2", "tasks")
	p.joined("a")
	stays := func(what string) {
		t.Helper()
		await(t, what, func() bool { return slices.Equal(taskStates(p.job("stays")), []string{"running", "running"}) })
	}
	p.submit("stays.yaml")
	stays("both tasks run")
	p.tells("job submit stays.yaml", "stays is there already, by this very definition")
	p.tells("job submit big.yaml", "! it waits: coverage: it needs 5 slots")
	p.write("other.yaml", "id: stays\ntasks:\n- {name: a, type: noop}\n")
	p.says("job submit other.yaml", exitFailed, "another spec", "try: --id")
	p.write("more.yaml", "id: stays\ntasks:\n- {name: a, type: noop, every: 1s, max: 1}\n")
	p.tells("job submit more.yaml --update", "stays is updated: 1 task")
	await(t, "one slot is free", func() bool {
		return slices.Equal(p.job("stays").Tasks[0].Slots, []string{"a:1"}) || slices.Equal(p.job("stays").Tasks[0].Slots, []string{"a:2"})
	})
	p.submit("stays.yaml", "--update")
	stays("both tasks run again")
	if out := p.says("job list --state pending", exitOK, "big", "pending", "0/1", "it needs 5 slots"); strings.Contains(out, "stays") {
		t.Errorf("rota job list: %s", out)
	}
	p.says("job show stays", exitOK, "stays is running", "0 of 2 tasks done", "scheduler round-robin", "a:1", "a:2")

	p.tells("job stop stays", "rota job list")
	await(t, "it is killed and its slots are free", func() bool {
		j := p.job("stays")
		return j.State == "killed" && j.Tasks[0].Partitions.Total == 0
	})
	p.says("job stop stays", exitFailed, "no such live job", "try: rota job list")
	if out := p.says("job show stays --follow", exitFailed); !strings.Contains(out, "killed, 0 of 2 tasks done") {
		t.Errorf("rota job show --follow: %s", out)
	}
	p.says("job submit fails.yaml --wait", exitFailed, "not checked here", "nobody.knows", "failed once", "is not known on member a")
}
