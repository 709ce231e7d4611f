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

// joined waits until a member has joined.
func (p *place) joined(name string) {
	p.t.Helper()
	await(p.t, name+" has joined", func() bool {
		out, _, _ := p.rota("member", "list", "--store", p.store, "-o", "json")
		var members []view.Member
		return json.Unmarshal([]byte(out), &members) == nil &&
			slices.ContainsFunc(members, func(m view.Member) bool { return m.Member == name && m.State == "joined" })
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
		fmt.Fprintf(&b, "- name: %s\n  type: witness-items\n  config: {path: %q, items: %d}\n", task,
			filepath.Join(p.dir, task), n)
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
	out, stderr, code := p.rota("job", "submit", "etl.yaml", "--type", "witness-items", "--store", "file:store",
		"--wait", "-o", "json")
	var s struct {
		Accepted bool     `json:"accepted"`
		Known    bool     `json:"known"`
		Job      view.Job `json:"job"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	if !s.Accepted || s.Known || s.Job.State != "completed" ||
		!slices.Equal(taskStates(s.Job), []string{"done", "done"}) {
		t.Errorf("got %+v", s)
	}
	first, second := p.firstLine("first"), p.firstLine("second")
	if first.at == 0 || second.at <= first.at || second.token <= first.token {
		t.Errorf("first began at %+v, second at %+v", first, second)
	}
	p.tells("job submit etl.yaml --type witness-items", "completed already")
	p.items("long.yaml", 250) // goes on for as long as a busy machine may take to look
	p.tells("job submit long.yaml --type witness-items --id again --wait", "again is submitted: 2 tasks",
		"first            running on 1 slot",
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
