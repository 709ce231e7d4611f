package command

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestValidate: the CI of a repository of task files sees what a member would say of them.
func TestValidate(t *testing.T) {
	p := newPlace(t)
	p.write("tasks/good.yaml", "type: noop\n")
	p.write("job.yaml", "tasks:\n- {name: a, type: noop}\n- {name: b, type: etl.load, after: a}\n")
	out, errs, code := p.rota("validate", "tasks", "job.yaml")
	if code != exitOK || out != "3 tasks ok, 0 faults\n" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	p.write("tasks/typo.yaml", "type: noop\nevry: 10s\n")
	p.write("tasks/b.json", `{"type": "nop"}`)
	out, _, code = p.rota("validate", "tasks")
	want := []string{"tasks/b.json:1:10: unknown type \"nop\"", "tasks/typo.yaml:2:1: unknown field \"evry\"", "2 │ evry: 10s", "try: did you mean \"every\"?", "1 task ok, 2 faults"}
	if code != exitFailed || !containsAll(out, want) {
		t.Errorf("exit %d: %s", code, out)
	}
	out, _, code = p.rota("validate", "tasks", "-o", "json")
	var v Validation
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitFailed {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if v.OK || v.Tasks != 1 || len(v.Faults) != 2 || v.Faults[1].Path != "tasks/typo.yaml" || v.Faults[1].Line != 2 || v.Faults[1].Column != 1 || v.Faults[1].Try == "" {
		t.Errorf("got %+v", v)
	}
	for args, want := range map[string]string{"nope": "nope", "": "needs a directory"} {
		if _, errs, code := p.rota(append([]string{"validate"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d: %s", args, code, errs)
		}
	}
}

// TestSubmitFromStandardInput: a job that another program writes needs no file.
func TestSubmitFromStandardInput(t *testing.T) {
	w := newWritten(t, nil)
	submit := func(text string, args ...string) (string, int) {
		_, errs, code := here(text, append([]string{"job", "submit", "-", "--store", "file:store"}, args...)...)
		return errs, code
	}
	if errs, code := submit("id: nightly\ntasks:\n- {name: a, type: noop}\n"); code != exitOK || !strings.Contains(errs, "nightly is submitted: 1 task") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if errs, code := submit(`{"type": "noop"}`, "--id", "one"); code != exitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	if errs, code := submit("type: noop\n"); code != exitUsage || !containsAll(errs, []string{"has no id", "try: rota job submit - --id NAME"}) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if errs, code := submit("type: nop\n", "--id", "x"); code != exitUsage || !strings.Contains(errs, "stdin.yaml:1:7") {
		t.Errorf("exit %d: %s", code, errs)
	}
	w.shows("job list --all", exitOK, "nightly", "one")
}

// TestAKilledJobNeedsAgainEachTime: neither the environment nor rota.yaml revives what somebody has killed, and no command waits because they say so.
func TestAKilledJobNeedsAgainEachTime(t *testing.T) {
	w := newWritten(t, nil)
	w.write("x.yaml", "id: x\ntasks:\n- {name: a, type: noop}\n")
	w.shows("job submit x.yaml", exitOK, "x is submitted")
	w.shows("job stop x", exitOK, "x is killed")
	for _, vars := range []map[string]string{nil, {"ROTA_AGAIN": "true", "ROTA_WAIT": "true"}} {
		if _, errs, code := with(vars, "", "job", "submit", "x.yaml", "--store", "file:store"); code != exitFailed || !containsAll(errs, []string{"it was killed, and stays so", "try: --again"}) {
			t.Errorf("%v: exit %d: %s", vars, code, errs)
		}
	}
	for _, name := range []string{"again", "wait"} {
		w.write("rota.yaml", name+": true\n")
		if _, errs, code := with(nil, "", "job", "submit", "x.yaml", "--store", "file:store"); code != exitUsage || !strings.Contains(errs, `unknown setting "`+name+`"`) {
			t.Errorf("%s in rota.yaml: exit %d: %s", name, code, errs)
		}
	}
	must.Succeed(t, os.Remove("rota.yaml"))
	if _, errs, code := with(nil, "", "job", "submit", "x.yaml", "--again", "--store", "file:store"); code != exitOK || !strings.Contains(errs, "x is submitted") {
		t.Errorf("--again: exit %d: %s", code, errs)
	}
	w.shows("events", exitOK, "asked          x  submit-job x noop  by ")
}

// TestOneTask: the row of a task, and its definition.
func TestOneTask(t *testing.T) {
	spec := one(cluster.SpreadSingle)
	spec.Version, spec.Tasks[0].Definition = "3", []byte(`{"config":{"token":"env:SECRET"}}`)
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": spec, "y": one(cluster.SpreadSingle)})
	out, _, _ := w.rota("task", "show", "x", "--store", "file:store")
	if strings.Count(out, "\n") != 2 || !strings.Contains(out, "x ") {
		t.Errorf("got %s", out)
	}
	w.shows("task show x --definition", exitOK, `"version":"3"`, `"definition":{"config":{"token":"env:SECRET"}}`, `"spread":"single"`)
	w.shows("task show z", exitFailed, `there is no task "z"`, "try: rota why z --store file:store")
	w.shows("task show --definition", exitUsage, "takes one argument: a task")
}

// TestNearestFlag: a typo in a flag gets the flag that was meant.
func TestNearestFlag(t *testing.T) {
	p := newPlace(t)
	for args, want := range map[string]string{
		"run --stoer x":      "try: did you mean --store? rota run --help shows all",
		"run --allow-cidr x": "try: rota run --help",
		"events --folow":     "try: did you mean --follow?",
	} {
		if _, errs, code := p.rota(strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", args, code, errs)
		}
	}
}

func within(t *testing.T, s store.Full) (*observer, *output) {
	t.Helper()
	var out output
	return &observer{env: env{stdout: &out, stderr: &out}, name: "memory:", store: s, now: time.Now()}, &out
}

// TestFollowTheJournal: each record is shown once, also one that comes late or while another one is shown, and one that looks like an older one.
func TestFollowTheJournal(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New().Open()
		defer s.Close()
		j := journal.NewDocs(s, "a", 0)
		add := func(message string, ago time.Duration) {
			t.Helper()
			r := journal.Record{AtMS: time.Now().Add(-ago).UnixMilli(), Kind: journal.RunError, Partition: "web", Message: message}
			must.Succeed(t, j.Append(t.Context(), r))
		}
		add("first", 0)
		o, out := within(t, s)
		records, err := o.journal(t.Context(), journal.Query{})
		must.Succeed(t, err)
		follower := tail{o: o, shown: make(map[string]int64)}
		must.Succeed(t, follower.show(records))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- follower.follow(ctx) }()
		for i := range 3 * 3600 / 100 { // three hours: what was shown long ago is forgotten, and not shown again
			time.Sleep(100 * time.Second) // waits: in virtual time
			add("again", 0)
			if i == 5 {
				add("late", 3*time.Minute)
			}
		}
		time.Sleep(2 * lookEvery) // waits: in virtual time
		stop()
		must.Succeed(t, <-ended)
		text := out.String()
		if strings.Count(text, "first") != 1 || strings.Count(text, "late") != 1 || strings.Count(text, "again") != 108 {
			t.Errorf("first %d, late %d, again %d times of 108", strings.Count(text, "first"), strings.Count(text, "late"), strings.Count(text, "again"))
		}
	})
}

// TestWaitUntilDrained: it tells how many tasks are left, and ends when there are none.
func TestWaitUntilDrained(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadSingle)})
	owner := "a"
	for p := range w.value.OwnedBy("b") {
		if p.Owner == "b" {
			owner = "b"
		}
	}
	other := map[string]string{"a": "b", "b": "a"}[owner]
	w.shows("member drain "+other+" --wait", exitOK, other+" is draining", other+" has no task any more")
	w.shows("member undrain "+other, exitOK)
	w.shows("member drain nobody --wait", exitFailed, "nobody")
	if got := estimate(10, 4, 3*time.Second); got != ", about 2s more" {
		t.Errorf("got %q", got)
	}
	if got := estimate(10, 10, time.Second); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestTheJournalSaysWhoAsked: what people do to a cluster is in its journal, with who did it.
func TestTheJournalSaysWhoAsked(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadSingle)})
	w.shows("member drain a", exitOK, "a is draining")
	w.shows("member undrain a", exitOK, "a takes tasks again")
	w.shows("job stop x", exitOK, "x is killed")
	w.shows("job stop nothing", exitFailed, "nothing")
	by := "  by " + asker(env{getenv: func(string) string { return "" }})
	w.shows("events", exitOK, "asked          drain-member a"+by, "asked          undrain-member a"+by, "asked          x  kill-job x"+by)
	w.shows("why x", exitOK, "kill-job x"+by)
	if out, _, _ := w.rota("events", "--kind", "moved,run-error", "--store", "file:store"); out != "" {
		t.Errorf("other kinds: %s", out)
	}
	if out, _, _ := w.rota("events", "--until", "1h", "--store", "file:store"); out != "" {
		t.Errorf("before an hour ago: %s", out)
	}
	w.shows("events --kind asked", exitOK, "kill-job x"+by)
	w.shows("events --kind aksed", exitUsage, "--kind asked")
	w.shows("events --until 2h --since 1h", exitUsage, "rota events --since 2h --until 1h")
}

func TestWhatASignalAsksFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s        os.Signal
		terminal bool
		want     request
	}{
		{syscall.SIGHUP, false, reload}, {syscall.SIGHUP, true, leave}, {syscall.SIGTERM, false, leave}, {syscall.SIGINT, true, leave}, {syscall.SIGPIPE, false, leave},
	} {
		if got := asks(c.s, c.terminal); got != c.want {
			t.Errorf("%v with terminal %v: got %v, want %v", c.s, c.terminal, got, c.want)
		}
	}
}

// TestCompany: a value that does not know of the member yet says nothing of others.
func TestCompany(t *testing.T) {
	t.Parallel()
	one := []cluster.Member{{ID: "a", Incarnation: 3, State: cluster.MemberJoined}}
	two := append(one, cluster.Member{ID: "b", Incarnation: 4, State: cluster.MemberJoined})
	for want, v := range map[string]cluster.Value{
		"joined":                     {},
		"joined as the first member": cluster.Assemble(cluster.Parts{Index: 4, Members: one}),
		"joined 1 other member":      cluster.Assemble(cluster.Parts{Index: 4, Members: two}),
	} {
		if got := company(v, "a", 3); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := company(cluster.Assemble(cluster.Parts{Index: 4, Members: two}), "a", 5); got != "joined" {
		t.Errorf("by a value from before it joined again: %q", got)
	}
}

// TestMovedHere: what starts again, or comes back, has not moved here.
func TestMovedHere(t *testing.T) {
	t.Parallel()
	from := func(m cluster.MemberID) *protocol.Grant { return &protocol.Grant{From: m} }
	for what, c := range map[string]struct {
		r    supervisor.RunStarted
		want bool
	}{
		"it came":              {supervisor.RunStarted{Partition: "x", Grant: from("b"), First: true}, true},
		"it starts again":      {supervisor.RunStarted{Partition: "x", Grant: from("b")}, false},
		"it is new":            {supervisor.RunStarted{Partition: "x", Grant: from(""), First: true}, false},
		"this member had it":   {supervisor.RunStarted{Partition: "x", Grant: from("a"), First: true}, false},
		"it is of Rota itself": {supervisor.RunStarted{Partition: "rota.source.tasks", Grant: from("b"), First: true}, false},
	} {
		if got := movedHere(c.r, "a"); got != c.want {
			t.Errorf("%s: got %v", what, got)
		}
	}
}

// TestADrainThatNobodyCanHelp says so at once, and ends.
func TestADrainThatNobodyCanHelp(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New().Open()
		defer s.Close()
		for _, c := range []cluster.Command{
			cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1"},
			cluster.SubmitJob{Job: "x", Spec: one(cluster.SpreadSingle)}, cluster.DrainMember{Member: "a", On: true},
		} {
			if res, err := replica.NewClient(s).Propose(t.Context(), c); err != nil || !res[0].Accepted {
				t.Fatal(c, res, err)
			}
		}
		o, out := within(t, s)
		must.Succeed(t, o.refresh(t.Context()))
		d := draining{observer: o, member: "a"}
		began := time.Now()
		err := o.watch(t.Context(), d.see)
		if took := time.Since(began); err == nil || took != drainPatience || !strings.Contains(err.Error(), "a still has 1 task, and none has gone for 2m: nobody can take 1 task of a, such as x: members: ") {
			t.Errorf("after %s: %v", took, err)
		}
		if want := "! nobody can take 1 task of a, such as x: members: no member has joined; it waits for 2m\na has 1 task\n"; out.String() != want {
			t.Errorf("it said\n%swant\n%s", out.String(), want)
		}
	})
}

// TestEvictEndsAHold: others take the tasks of a member that has announced a restart, and one that may live is told.
func TestEvictEndsAHold(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadSingle)})
	owner := func() cluster.Partition {
		v, err := replica.Protocol{}.Observe(t.Context(), w.st, cluster.Value{})
		must.Succeed(t, err)
		x, _ := v.Partition("x")
		return x
	}
	m, _ := w.value.Member(owner().Owner)
	evict := "member evict " + string(m.ID)
	w.shows(evict, exitOK, string(m.ID)+" is evicted: others take its tasks")
	_, err := w.st.Get(t.Context(), "evict/"+string(m.ID))
	must.Succeed(t, err)
	_, err = replica.NewClient(w.st).Propose(t.Context(), cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "restart", Hold: true})
	must.Succeed(t, err)
	w.alive()
	w.shows("status", exitOK, "! held", "rota member evict "+string(m.ID))
	w.shows(evict, exitOK, string(m.ID)+" is evicted")
	if x := owner(); x.Owner == m.ID || x.Owner == "" {
		t.Errorf("x is %s of %q", x.State, x.Owner)
	}
	w.shows(evict, exitFailed, "no such member", "try: rota member list")
	w.shows("events", exitOK, "evict-member "+string(m.ID))
}
