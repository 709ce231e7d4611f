package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/source"
)

// job is a job as the command shows it.
func (p *place) job(id string) (job api.Job) {
	p.t.Helper()
	out, stderr, code := p.rota("jobs", id, "--store", "file:store", "--json")
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
	_, stderr, code := p.rota(append([]string{"submit", "--store", "file:store"}, args...)...)
	if code != exitOK {
		p.t.Fatalf("exit %d: %s", code, stderr)
	}
	return stderr
}

// joined waits until a member has joined.
func (p *place) joined(name string) {
	p.t.Helper()
	await(p.t, name+" has joined", func() bool {
		out, _, _ := p.rota("members", "--store", "file:store")
		return containsAll(out, []string{name, "joined"})
	})
}

func taskStates(j api.Job) (out []string) {
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
	out, stderr, code := p.rota("submit", "etl.yaml", "--type", "witness-items", "--store", "file:store", "--wait", "--json")
	var s Submitted
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
	if said := p.submit("etl.yaml", "--type", "witness-items"); !strings.Contains(said, "completed already") {
		t.Errorf("it said %q", said)
	}
	p.items("long.yaml", 250) // goes on for as long as a busy machine may take to look
	if said := p.submit("long.yaml", "--type", "witness-items", "--id", "again", "--wait"); !containsAll(said, []string{
		"again is submitted: 2 tasks", "first            running on 1 slot", "waiting: it starts when what it comes after is finished: first", "completed, 2 of 2 tasks done",
	}) {
		t.Errorf("it said %s", said)
	}
	out, _, _ = p.rota("jobs", "--store", "file:store")
	if !containsAll(out, []string{"JOB", "etl", "again", "completed", "2/2"}) {
		t.Errorf("rota jobs: %s", out)
	}
	out, _, code = p.rota("jobs", "etl", "--follow", "--store", "file:store")
	if code != exitOK || !strings.Contains(out, "completed, 2 of 2 tasks done") {
		t.Errorf("rota jobs --follow: exit %d, %s", code, out)
	}
}

func (p *place) content(name string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
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
	if err := json.Unmarshal([]byte(firstLine(string(data))), &line); err != nil {
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
	p.submit("stays.yaml")
	await(t, "both tasks run", func() bool { return slices.Equal(taskStates(p.job("stays")), []string{"running", "running"}) })
	if said := p.submit("stays.yaml"); !strings.Contains(said, "stays is there already, by this very definition") {
		t.Errorf("it said %q", said)
	}
	if said := p.submit("big.yaml"); !strings.Contains(said, "! it waits: coverage: it needs 5 slots") {
		t.Errorf("it said %q", said)
	}
	p.write("other.yaml", "id: stays\ntasks:\n- {name: a, type: noop}\n")
	if _, stderr, code := p.rota("submit", "other.yaml", "--store", "file:store"); code != exitFailed || !containsAll(stderr, []string{"another spec", "try: --id"}) {
		t.Errorf("exit %d, %s", code, stderr)
	}
	p.write("more.yaml", "id: stays\ntasks:\n- {name: a, type: noop, every: 1s, max: 1}\n")
	if said := p.submit("more.yaml", "--update"); !strings.Contains(said, "stays is updated: 1 task") {
		t.Errorf("it said %q", said)
	}
	await(t, "one slot is free", func() bool {
		return slices.Equal(p.job("stays").Tasks[0].Slots, []string{"a:1"}) || slices.Equal(p.job("stays").Tasks[0].Slots, []string{"a:2"})
	})
	p.submit("stays.yaml", "--update")
	await(t, "both tasks run again", func() bool { return slices.Equal(taskStates(p.job("stays")), []string{"running", "running"}) })
	out, _, _ := p.rota("jobs", "--state", "pending", "--store", "file:store")
	if !containsAll(out, []string{"big", "pending", "0/1", "it needs 5 slots"}) || strings.Contains(out, "stays") {
		t.Errorf("rota jobs: %s", out)
	}
	out, _, _ = p.rota("jobs", "stays", "--store", "file:store")
	if !containsAll(out, []string{"stays is running", "0 of 2 tasks done", "scheduler round-robin", "a:1", "a:2"}) {
		t.Errorf("rota jobs stays: %s", out)
	}

	if _, stderr, code := p.rota("kill", "stays", "--store", "file:store"); code != exitOK || !strings.Contains(stderr, "rota jobs") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	await(t, "it is killed and its slots are free", func() bool {
		j := p.job("stays")
		return j.State == "killed" && j.Tasks[0].Partitions.Total == 0
	})
	if _, stderr, code := p.rota("kill", "stays", "--store", "file:store"); code != exitFailed || !containsAll(stderr, []string{"no such live job", "try: rota jobs"}) {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if out, _, code := p.rota("jobs", "stays", "--follow", "--store", "file:store"); code != exitFailed || !strings.Contains(out, "killed, 0 of 2 tasks done") {
		t.Errorf("exit %d, %s", code, out)
	}
	_, stderr, code := p.rota("submit", "fails.yaml", "--wait", "--store", "file:store")
	if code != exitFailed || !containsAll(stderr, []string{"not checked here", "nobody.knows", "failed once", "is not known on member a"}) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestMalformedJobs(t *testing.T) {
	p := newPlace(t)
	p.write("typo.yaml", "tasks:\n- name: a\n  type: noop\n  afetr: b\n")
	p.write("type.yaml", "tasks:\n- {name: a, type: nop}\n")
	p.write("exec.yaml", "tasks:\n- {name: a, type: exec, config: {argv: [/bin/true]}}\n")
	p.write("large.yaml", "type: noop\n#"+strings.Repeat("x", 3<<20))
	for args, want := range map[string][]string{
		"large.yaml":                    {"large.yaml: 3145740 bytes; a definition has at most 1048576", "try: "},
		"typo.yaml":                     {"     4 │   afetr: b\n       │   ^\n", `rota: typo.yaml:4:3: task a: unknown field "afetr"`, "try: did you mean \"after\"?"},
		"type.yaml":                     {`rota: type.yaml:2:19: task a: unknown type "nop"`, `try: did you mean "noop"?; or --type NAME`},
		"exec.yaml":                     {"may not run /bin/true", "try: start the members with --allow-exec /bin/true"},
		"nope.yaml":                     {"rota: read job: open nope.yaml", "try: "},
		"typo.txt":                      {"rota: read job: open typo.txt", "try: "},
		"type.yaml --type nop":          {`there is no store`, "try: "},
		"exec.yaml --id rota.x":         {"exec.yaml:2", "try: "},
		"type.yaml type.yaml":           {"takes one argument", "try: "},
		"type.yaml --id a/b --type nop": {`"a/b"`, "try: another --id"},
	} {
		_, stderr, code := p.rota(append([]string{"submit", "--store", "file:store"}, strings.Fields(args)...)...)
		if code == exitOK || !containsAll(stderr, want) {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

func TestPlanWithoutAMember(t *testing.T) {
	p := newPlace(t)
	p.noops(6)
	p.task("gpu.yaml", "type: noop\nlabels: {gpu: \"yes\"}\n")
	p.task("each.yaml", "type: noop\nspread: every\n")
	p.write("pool.yaml", "tasks:\n- {name: a, type: noop}\n")
	p.start("a", "--slots", "2", "--label", "gpu=yes", "tasks")
	p.start("b", "--slots", "1", "tasks")
	p.joined("b")
	p.submit("pool.yaml")
	await(t, "all run", func() bool { return p.shares(6+1+2+3) != "" })
	out, stderr, code := p.rota("plan", "--without", "a", "--store", "file:store")
	var plan api.Plan
	asJSON, _, _ := p.rota("plan", "--without", "a", "--store", "file:store", "--json")
	if err := json.Unmarshal([]byte(asJSON), &plan); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	if plan.Tasks != 9 || len(plan.Moves) < 2 || plan.Ends != 1 || len(plan.Waits) != 1 || plan.Waits[0].Task != "gpu" ||
		len(plan.Slots) != 1 || plan.Slots[0] != (api.PlanSlots{Task: "pool/a", Before: 3, After: 1}) {
		t.Errorf("got %+v", plan)
	}
	if !containsAll(out, []string{
		fmt.Sprintf("would move %d of 9 tasks: b +%d", len(plan.Moves), len(plan.Moves)), "would end: 1 partition", "! would wait  gpu  labels: gpu=yes", "slots of pool/a: 3 → 1",
	}) {
		t.Errorf("got %s", out)
	}
	before := p.shares(12)
	if out, _, _ := p.rota("plan", "--without", "a,b", "--store", "file:store"); !strings.Contains(out, "no member would be left") {
		t.Errorf("got %s", out)
	}
	if after := p.shares(12); after != before {
		t.Errorf("a plan changed something: %s, then %s", before, after)
	}
	if _, stderr, code := p.rota("plan", "--without", "nobody", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "no such member") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, stderr, code := p.rota("plan", "--store", "file:store"); code != exitUsage || !strings.Contains(stderr, "which member") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// The jobs that the guide shows are sound.
func TestJobsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guide/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	types, err := typesOf(nil, []string{"/opt/etl/load", "/opt/etl/report"}, false)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	for i, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if _, _, err := source.ParseJob("job.yaml", []byte(text), types, new(submission).accepts); err != nil {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d jobs were read, want 2", len(blocks))
	}
}

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
	out, stderr, code := p.rota("configure", "--job-scheduler", "percentage", "--retention", "1", "--store", "file:store")
	if code != exitOK || !containsAll(out, []string{"job-scheduler  percentage", "retention      1"}) {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
	await(t, "they share by percentages", slots("3 1"))
	p.write("c.yaml", "percent: 1\ntasks:\n- {name: x, type: noop}\n")
	if _, stderr, code := p.rota("submit", "c.yaml", "--store", "file:store"); code != exitFailed || !strings.Contains(stderr, "come to 101") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	cmd := p.command("configure", "--store", "file:store")
	if cmd.Env = append(cmd.Env, "ROTA_RETENTION=7"); cmd.Run() != nil {
		t.Error("the settings cannot be shown")
	}
	if out, _, _ := p.rota("configure", "--store", "file:store"); !strings.Contains(out, "retention      1") {
		t.Errorf("the environment changed the settings of the cluster: %s", out)
	}
	for _, job := range []string{"a", "b"} {
		if _, stderr, code := p.rota("kill", job, "--store", "file:store"); code != exitOK {
			t.Fatal(stderr)
		}
	}
	if out, _, _ := p.rota("jobs", "--store", "file:store"); strings.Contains(out, "a  ") || !strings.Contains(out, "b  ") {
		t.Errorf("of the two that have ended the newer one alone is to stay: %s", out)
	}
	if _, stderr, code := p.rota("configure", "--retention", "0", "--store", "file:store"); code != exitUsage || !strings.Contains(stderr, "below 1") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, stderr, code := p.rota("configure", "--job-scheduler", "fair", "--store", "file:store"); code != exitUsage || !strings.Contains(stderr, "not a scheduler") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	out, _, _ = p.rota("configure", "--json", "--store", "file:store")
	if want := "{\"job_scheduler\":\"percentage\",\"move_budget\":256,\"retention\":1}\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
