package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/source"
)

// binaries are what users run: the command, and this program. They are built once.
var binaries string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-wordcount-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	if out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "../../cmd/rota", ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience bounds every wait; it says nothing about how long things should take.
const patience = 60 * time.Second

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited %s and it is not so: %s", patience, what)
		}
	}
}

// output is what a process has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// tour is a directory with texts, a store and members.
type tour struct {
	t   *testing.T
	dir string
}

func newTour(t *testing.T) *tour {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "text"), os.DirFS("text")); err != nil {
		t.Fatal(err)
	}
	return &tour{t, dir}
}

func (p *tour) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o640); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tour) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binaries, program), args...)
	cmd.Dir = p.dir
	return cmd
}

// member starts a member and returns when it has joined.
func (p *tour) member(name string) *exec.Cmd {
	p.t.Helper()
	var said output
	cmd := p.command("wordcount", "--member", name, "--store", "store", "--slots", "2", "--ttl", "30s") // who is killed is noticed at once
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", name, said.String())
		}
	})
	await(p.t, name+" has joined", func() bool { return strings.Contains(said.String(), "joined") })
	return cmd
}

// job is a job as rota jobs shows it.
func (p *tour) job(id string) (job api.Job) {
	p.t.Helper()
	out, err := p.command("rota", "jobs", id, "--store", "file:store", "--json").Output()
	if err != nil {
		p.t.Fatalf("rota jobs: %v", err)
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
	if err != nil {
		p.t.Fatal(err)
	}
}

// words are those of all texts: counted here, and by wc -w where there is one, which must agree.
func (p *tour) words() (words int) {
	p.t.Helper()
	for _, f := range p.files("text", ".txt") {
		text, err := os.ReadFile(f)
		if err != nil {
			p.t.Fatal(err)
		}
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
	if _, err := fmt.Sscan(lines[len(lines)-1], &words); err != nil {
		p.t.Fatal(err)
	}
	return words
}

// slow is the job of job.yaml, slow enough that each of its tasks can be met while it runs, and its process be killed, on a machine that is busy.
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

// The job runs to its end on three processes though each of its tasks loses a process that runs it; the total is what wc says.
func TestCountsThoughMembersAreKilled(t *testing.T) {
	p := newTour(t)
	var big strings.Builder
	for i := range 300 {
		fmt.Fprintf(&big, "line %d has\tseven words,  or not\n", i)
	}
	p.write("text/big.txt", big.String())
	p.write("job.yaml", slow)
	members := map[string]*exec.Cmd{}
	for _, name := range []string{"a", "b", "c"} {
		members[name] = p.member(name)
	}
	var said output
	submit := p.command("rota", "submit", "job.yaml", "--store", "file:store", "--wait")
	submit.Stderr = &said
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- submit.Wait() }()
	defer func() {
		if t.Failed() {
			t.Logf("rota submit said:\n%s", said.String())
		}
	}()
	await(t, "the job is submitted", func() bool { return strings.Contains(said.String(), "is submitted") })

	for i, task := range []string{"split", "count", "sum"} {
		victim := ""
		await(t, task+" runs", func() bool { victim = p.runner(i); return victim != "" })
		if err := members[victim].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		await(t, task+" has left the slots of "+victim, func() bool {
			return !slices.ContainsFunc(p.job("wordcount").Tasks[i].Slots, func(s string) bool { return strings.HasPrefix(s, victim+":") })
		})
		if j := p.job("wordcount"); j.Tasks[i].State == "done" {
			t.Fatalf("%s was done before %s was killed", task, victim)
		}
		members[victim] = p.member(victim)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("rota submit --wait: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the job does not end")
	}
	j := p.job("wordcount")
	if j.State != "completed" || !slices.Equal(states(j), []string{"done", "done", "done"}) {
		t.Errorf("the job is %s, its tasks %v", j.State, states(j))
	}
	var sum total
	p.read(filepath.Join(p.dir, "results/wordcount/total.json"), &sum)
	if want := p.words(); sum.Words != want || sum.Files != 4 || sum.Chunks != len(p.files("results/wordcount/counts", ".json")) {
		t.Errorf("total %+v; there are %d words", sum, want)
	}
}

func states(j api.Job) (out []string) {
	for _, t := range j.Tasks {
		out = append(out, t.State)
	}
	return out
}

// The job file is sound, and names the types that this program brings.
func TestJobFileIsSound(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	table := map[string]bool{}
	for _, typ := range types(root) {
		table[typ.Name] = true
	}
	id, spec, err := source.ParseJob("job.yaml", data, nil, func(name string) bool { return table[name] })
	if err != nil || id != "wordcount" || len(spec.Tasks) != 3 {
		t.Errorf("%s, %d tasks, %v", id, len(spec.Tasks), err)
	}
}
