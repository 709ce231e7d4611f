package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
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

// A member is killed, and its server too. Started again without a server it runs what keeps on store loss, says so, and
// waits; when the server is back it joins, and runs all under new grants.
func TestAStartWithoutAServer(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := p.ownServer("etcd")
	p.task("on.yaml", "type: noop\nevery: 1s\non_store_loss: keep\n")
	p.task("off.yaml", "type: noop\nevery: 1s\n")
	start := func(witness string) *running {
		return p.start("a", "--protocol", "leader", "--ttl", "2s", "--state-dir", "state", "--witness", witness,
			"tasks")
	}
	a := start("first.witness")
	p.awaitShares(2, "a:2")
	await(t, "both run", func() bool { return p.runs("first.witness") == 2 })
	await(t, "what keeps is on disk", func() bool {
		files, err := filepath.Glob(filepath.Join(p.dir, "state", "a-*.json"))
		if err != nil || len(files) != 1 {
			return false
		}
		text, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(text), `"Partition": "on"`) &&
			!strings.Contains(string(text), `"Partition": "off"`)
	})
	a.signal(syscall.SIGKILL)
	a.end()
	must.Succeed(t, s.Kill())
	a = start("second.witness")
	await(t, "it says what it does", func() bool {
		return strings.Contains(a.Stdout.String()+a.Stderr.String(), "waits for the store") &&
			strings.Contains(a.Stdout.String()+a.Stderr.String(), "1 task with on_store_loss: keep")
	})
	await(t, "the one that keeps runs",
		func() bool { return strings.Join(started(t, p, "second.witness"), " ") == "on" })
	must.Succeed(t, s.Restart(ctx))
	p.awaitShares(2, "a:2")
	await(t, "both run again", func() bool { return p.runs("second.witness") == 2 })
	a.signal(syscall.SIGTERM)
	if code := a.end(); code != exitOK {
		t.Errorf("exit %d: %s", code, a.Stderr.String())
	}
}

// started are the tasks of files that a member has started, in order.
func started(t *testing.T, p *place, witness string) (out []string) {
	t.Helper()
	w := process.Witness{Path: filepath.Join(p.dir, witness)}
	records := must.Get(w.Next())(t)
	for _, r := range records {
		if r.Kind == history.Started && !strings.HasPrefix(string(r.Partition), "rota.") {
			out = append(out, string(r.Partition))
		}
	}
	return out
}
