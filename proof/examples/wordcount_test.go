package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
)

// tour is a directory with texts, a store and members.
type tour struct {
	t     *testing.T
	dir   string
	store string // as the example takes it
}

func newTour(t *testing.T) *tour {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	must.Succeed(t, os.CopyFS(filepath.Join(dir, "text"), os.DirFS("../../examples/wordcount/text")))
	return &tour{t, dir, "store"}
}

func (p *tour) write(name, text string) {
	p.t.Helper()
	must.Succeed(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o640))
}

func (p *tour) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(programs, program), args...)
	cmd.Dir = p.dir
	return cmd
}

// storeURL is the store as rota takes it.
func (p *tour) storeURL() string {
	if strings.Contains(p.store, "://") {
		return p.store
	}
	return "file:" + p.store
}

// member starts a member and returns when it has joined.
func (p *tour) member(name string) *process.Process {
	p.t.Helper()
	m := processtest.Start(p.t, name, p.command("wordcount", "--member", name, "--store", p.store, "--slots", "2",
		"--ttl", "30s")) // a kill is noticed at once
	processtest.Await(p.t, name+" has joined", func() bool { return strings.Contains(m.Stderr.String(), "joined") })
	return m
}

// job is a job as rota job list shows it.
func (p *tour) job(id string) (job view.Job) {
	p.t.Helper()
	out, err := p.command("rota", "job", "show", id, "--store", p.storeURL(), "-o", "json").Output()
	if err != nil {
		p.t.Fatalf("rota job list: %v", err)
	}
	if err := json.Unmarshal(out, &job); err != nil {
		p.t.Fatalf("%v in %s", err, out)
	}
	return job
}

// files are the names in a directory of results; none while it is not there.
func (p *tour) files(dir, suffix string) (out []string) {
	p.t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			out = append(out, filepath.Join(p.dir, dir, e.Name()))
		}
	}
	return out
}

func (p *tour) read(path string, v any) {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	must.Succeed(p.t, err)
}

// words are those of all texts: counted here, and by wc -w where there is one, which must agree.
func (p *tour) words() (words int) {
	p.t.Helper()
	for _, f := range p.files("text", ".txt") {
		text, err := os.ReadFile(f)
		must.Succeed(p.t, err)
		words += len(bytes.Fields(text))
	}
	if _, err := exec.LookPath("wc"); err != nil {
		p.t.Log("no wc here: the texts were counted by this test alone")
	} else if wc := p.wc(); wc != words {
		p.t.Errorf("wc -w says %d, this test %d", wc, words)
	}
	return words
}

// wc is what wc -w says of all texts.
func (p *tour) wc() (words int) {
	p.t.Helper()
	out, err := exec.Command("wc", append([]string{"-w"}, append(p.files("text", ".txt"), "/dev/null")...)...).Output()
	if err != nil {
		p.t.Fatalf("wc: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	must.Succeed(p.t, must.Err(fmt.Sscan(lines[len(lines)-1], &words)))
	return words
}

// slow is the job of job.yaml, slow enough that each of its tasks can be met while it runs, and its process be killed,
// on a machine that is busy.
const slow = `id: wordcount
tasks:
- {name: split, type: wordcount.split, max: 1, config: {text: text, lines: 5, pause: 2s}}
- {name: count, type: wordcount.count, after: split, config: {pause: 500ms}}
- {name: sum, type: wordcount.sum, max: 1, after: count, config: {pause: 150ms}}
`

// runner is a member that runs a task at this moment; "" if none does.
func (p *tour) runner(task int) string {
	j := p.job("wordcount")
	if j.Ended() {
		p.t.Fatalf("the job is %s before task %d was met while it ran", j.State, task)
	}
	if j.Tasks[task].State != "running" {
		return ""
	}
	if task > 0 && j.Tasks[task-1].State != "done" {
		p.t.Fatalf("task %d runs, and the one before is %s", task, j.Tasks[task-1].State)
	}
	name, _, _ := strings.Cut(j.Tasks[task].Slots[0], ":")
	return name
}

// The job runs to its end on three processes though each of its tasks loses a process that runs it; the total is what
// wc says.
func TestCountsThoughMembersAreKilled(t *testing.T) {
	p := newTour(t)
	var big strings.Builder
	for i := range 300 {
		fmt.Fprintf(&big, "line %d has\tseven words,  or not\n", i)
	}
	p.write("text/big.txt", big.String())
	p.write("job.yaml", slow)
	members := map[string]*process.Process{}
	for _, name := range []string{"a", "b", "c"} {
		members[name] = p.member(name)
	}
	submit := processtest.Start(t, "rota job submit",
		p.command("rota", "job", "submit", "job.yaml", "--store", "file:store", "--wait"))
	processtest.Await(t, "the job is submitted",
		func() bool { return strings.Contains(submit.Stderr.String(), "is submitted") })

	for i, task := range []string{"split", "count", "sum"} {
		victim := ""
		processtest.Await(t, task+" runs", func() bool { victim = p.runner(i); return victim != "" })
		must.Succeed(t, members[victim].Kill())
		processtest.Await(t, task+" has left the slots of "+victim, func() bool {
			return !slices.ContainsFunc(p.job("wordcount").Tasks[i].Slots,
				func(s string) bool { return strings.HasPrefix(s, victim+":") })
		})
		if j := p.job("wordcount"); j.Tasks[i].State == "done" {
			t.Fatalf("%s was done before %s was killed", task, victim)
		}
		members[victim] = p.member(victim)
	}
	ctx, cancel := context.WithTimeout(t.Context(), processtest.Patience)
	defer cancel()
	if code, err := submit.Wait(ctx); err != nil || code != 0 {
		t.Fatalf("rota job submit --wait: exit %d, %v", code, err)
	}
	j := p.job("wordcount")
	if j.State != "completed" || !slices.Equal(states(j), []string{"done", "done", "done"}) {
		t.Errorf("the job is %s, its tasks %v", j.State, states(j))
	}
	var sum struct{ Files, Chunks, Words int }
	p.read(filepath.Join(p.dir, "results/wordcount/total.json"), &sum)
	if want := p.words(); sum.Words != want || sum.Files != 4 ||
		sum.Chunks != len(p.files("results/wordcount/counts", ".json")) {
		t.Errorf("total %+v; there are %d words", sum, want)
	}
}

func states(j view.Job) (out []string) {
	for _, t := range j.Tasks {
		out = append(out, t.State)
	}
	return out
}
