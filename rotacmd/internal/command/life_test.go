package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/stores"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// slowFiles are files whose listing waits until it may go on.
type slowFiles struct {
	fstest.MapFS
	enter func()
	goOn  chan struct{}
}

func (f slowFiles) Open(name string) (fs.File, error) {
	if name == "." {
		f.enter()
		<-f.goOn
	}
	return f.MapFS.Open(name)
}

// TestNothingWaitsForTheFirstScan: what a member says while its files are still being read waits for the first line,
// and the member does not.
func TestNothingWaitsForTheFirstScan(t *testing.T) {
	t.Parallel()
	var out output.Text
	entered := make(chan struct{})
	files := slowFiles{fstest.MapFS{"a.yaml": {Data: []byte("type: noop\n")}}, sync.OnceFunc(func() { close(entered) }),
		make(chan struct{})}
	c := &config{env: env{stderr: &out}, store: "memory:"}
	c.node = node.Config{Member: "m", Files: map[string]fs.FS{"s": statless{files}}, Cache: directory.NewCache()}
	var err error
	c.node.Types, err = c.typesOf(c.allow, true)
	must.Succeed(t, err)
	w := &welcome{c: c}
	ended := make(chan struct{})
	go func() { defer close(ended); w.begin() }()
	<-entered
	w.say("joined")
	w.say("and more")
	if got := out.String(); got != "" {
		t.Errorf("it said %q before the first line", got)
	}
	close(files.goOn)
	<-ended
	w.say("last")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "1 task from source s") ||
		strings.Join(lines[1:], ", ") != "joined, and more, last" {
		t.Errorf("it said\n%s", out.String())
	}
}

// statless hides that the files have a Stat and a ReadDir of their own.
type statless struct{ fs.FS }

// TestNoHintThatIsRefused: no other process reads a store inside this one.
func TestNoHintThatIsRefused(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{"memory:": "",
		"file:my data": " · status: rota status --store 'file:my data'"} {
		if got := (&config{store: store}).statusHint(); got != want {
			t.Errorf("%s: %q, want %q", store, got, want)
		}
	}
}

// TestALeavingMember answers as long as it hands over, and leaves locked nothing that its tasks have locked.
func TestALeavingMember(t *testing.T) {
	t.Parallel()
	journaled := filepath.Join(t.TempDir(), "journal")
	server, locked, stopped, goOn := memory.New(), make(chan error, 1), make(chan struct{}), make(chan struct{})
	holds := work.Type{Name: "test.holds", New: func(work.Definition) (work.Runner, error) {
		return work.RunnerFunc(func(ctx context.Context, _ *work.Grant) error {
			locked <- must.Err(rota.LocksFrom(ctx).Lock("x").Acquire(ctx))
			<-ctx.Done()
			close(stopped)
			<-goOn
			return nil
		}), nil
	}}
	e := env{stdout: io.Discard, stderr: &output.Text{}, getenv: func(string) string { return "" }, own: Program{
		Types: []work.Type{holds}, Sources: map[string]fs.FS{"s": fstest.MapFS{"t.yaml": {Data: []byte("type: test.holds\n")}}},
	}}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- e.runInside(ctx, strings.Fields("--store memory: --member m --listen 127.0.0.1:0 --publish none "+
			"--storage file:"+journaled), server.Open())
	}()
	must.Succeed(t, <-locked)
	v := must.Get(replica.Protocol{}.Observe(t.Context(), server.Open(), cluster.Value{}))(t)
	m, _ := v.Member("m")
	leave()
	<-stopped
	answer, err := http.Get("http://" + m.Address + "/healthz") //nolint:noctx // of this process
	must.Succeed(t, err)
	must.Succeed(t, answer.Body.Close())
	close(goOn)
	must.Succeed(t, <-ended)
	if text, err := os.ReadFile(journaled); err != nil || !strings.Contains(string(text), "t.yaml") {
		t.Errorf("its journal has %q, %v", text, err)
	}
	locks := must.Get(rota.OpenLocks(server.Open(), rota.LocksOptions{}))(t)
	if _, err := locks.Lock("x").TryAcquire(t.Context()); err != nil {
		t.Errorf("what a task had locked: %v", err)
	}
	must.Succeed(t, locks.Close(t.Context()))
}

// inBubble runs a command on a store in memory.
func inBubble(handle func() store.Full, command string) (text string, code int) {
	open := func(context.Context, stores.Place) (store.Full, error) { return handle(), nil }
	var out output.Text
	code = execute(env{
		args: strings.Fields(command + " --store bubble:x"), stdout: &out, stderr: &out,
		getenv: func(string) string { return "" },
		own:    Program{Stores: []stores.Kind{{Scheme: "bubble", Open: open}}},
	})
	return out.String(), code
}

// TestACommandDoesNotWaitForEver: where the store does not answer, it ends.
func TestACommandDoesNotWaitForEver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := &moody{Full: memory.New().Open()}
		s.away.Store(1)
		began := time.Now()
		if text, code := inBubble(func() store.Full { return s }, "status"); code != exitFailed ||
			time.Since(began) != answerWithin || !strings.Contains(text, "deadline exceeded") {
			t.Errorf("after %s: exit %d: %s", time.Since(began), code, text)
		}
	})
}

// TestACallMayTakeLong: longer than a command waits for the store.
func TestACallMayTakeLong(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := memory.New()
		s, handle := server.Open(), func() store.Full { return server.Open() }
		defer s.Close()
		join := cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1", Slots: 1}
		for k, v := range call.Labels((&config{node: node.Config{Member: "a", Slots: 1}}).functions()) { // order-free: there is one
			join.Labels = append(join.Labels, cluster.Label{Key: k, Value: v})
		}
		must.Succeed(t, must.Err(replica.NewClient(s).Propose(t.Context(), join)))
		c := must.Get(call.NewClient(s, call.ClientOptions{}))(t)
		defer c.Close()
		for format, want := range map[string]string{"text": "was cancelled", "json": `"state":"cancelled"`} { // order-free: each by itself
			time.AfterFunc(2*answerWithin, func() {
				calls, _, err := view.Calls(t.Context(), s, string(call.Queued))
				must.Succeed(t, err)
				must.Succeed(t, must.Get(c.Attach(calls[0].ID))(t).Cancel(t.Context()))
			})
			text, code := inBubble(handle, "function call ping -o "+format)
			if code != exitFailed || !strings.Contains(text, want) || !strings.Contains(text, "waiting for call") {
				t.Errorf("exit %d: %s", code, text)
			}
		}
	})
}

// TestWhatIsKeptEndsFirst: what a member has run while the store was away has stopped before it takes part.
func TestWhatIsKeptEndsFirst(t *testing.T) {
	t.Parallel()
	path, runs := filepath.Join(t.TempDir(), "m.json"), atomic.Bool{}
	began := make(chan struct{})
	kept := work.Type{Name: "test.kept", New: func(work.Definition) (work.Runner, error) {
		return work.RunnerFunc(func(ctx context.Context, _ *work.Grant) error {
			runs.Store(true)
			close(began)
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond) // waits: it takes a while to stop
			runs.Store(false)
			return nil
		}), nil
	}}
	grants := []*protocol.Grant{{Partition: "x", Token: 2,
		Spec: &cluster.TaskSpec{Type: kept.Name, Definition: []byte(`{"on_store_loss":"keep"}`)}}}
	file := must.Get(json.Marshal(map[string]any{"format": 1, "member": "m", "grants": grants}))(t)
	must.Succeed(t, os.WriteFile(path, file, 0o600))
	server, asked := memory.New(), 0
	open := func(context.Context, stores.Place) (store.Full, error) {
		if asked++; asked == 1 {
			return nil, store.ErrUnavailable
		}
		<-began
		return server.Open(), nil
	}
	c := &config{store: "late:x", publish: []string{"none"},
		env: env{stderr: &output.Text{}, own: Program{Stores: []stores.Kind{{Scheme: "late", Open: open}}}}}
	c.node = node.Config{Member: "m", Types: work.Types{kept.Name: kept}, Kept: must.Get(node.OpenKept(path, "m"))(t)}
	s := must.Get(c.openMember(t.Context()))(t)
	defer s.Close()
	if runs.Load() {
		t.Error("it runs on")
	}
}

// TestAllRoundsAreWaitedFor: those of each partition, however long they take.
func TestAllRoundsAreWaitedFor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New().Open()
		defer s.Close()
		asks := []supervisor.Ask{must.Get(supervisor.AskRound(t.Context(), s, "x#a", ""))(t),
			must.Get(supervisor.AskRound(t.Context(), s, "x#b", ""))(t)}
		for i, d := range must.Get(s.List(t.Context(), "run-now/"))(t) {
			time.AfterFunc(time.Duration(i)*time.Hour,
				func() { must.Succeed(t, s.Delete(t.Context(), d.Key, d.Version)) })
		}
		began := time.Now()
		if err := awaitRounds(t.Context(), s, asks); err != nil || time.Since(began) < time.Hour {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestARoundMayTakeLong: longer than a command waits for the store.
func TestARoundMayTakeLong(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := memory.New()
		s, handle := server.Open(), func() store.Full { return server.Open() }
		defer s.Close()
		must.Succeed(t, must.Err(replica.NewClient(s).Propose(t.Context(),
			cluster.SubmitJob{Job: "nightly", Spec: one(cluster.SpreadSingle)})))
		time.AfterFunc(2*answerWithin, func() {
			for _, d := range must.Get(s.List(t.Context(), "run-now/"))(t) {
				must.Succeed(t, s.Delete(t.Context(), d.Key, d.Version))
			}
		})
		if out, code := inBubble(handle, "task trigger nightly --wait"); code != exitOK ||
			!strings.Contains(out, "nightly has run a round") {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

// /metrics shows what people look for in any Go service, beside what only Rota has.
func TestMetricsOfAMember(t *testing.T) {
	t.Parallel()
	n := must.Get(node.New(node.Config{Member: "a", Protocol: replica.Protocol{}, Store: memory.New().Open()}))(t)
	c := &config{node: node.Config{Types: must.Get(env{}.typesOf(allowed{}, false))(t)}}
	for definition, want := range map[string]cluster.JobID{"type: noop": "", "{id: x, tasks: [{name: a, type: noop}]}": "x"} {
		if id, _, err := c.actions(n).Job([]byte(definition)); id != want || err != nil {
			t.Errorf("the API takes %s as job %q, %v", definition, id, err)
		}
	}
	families := must.Get(metricsOf(n).Gather())(t)
	names := make(map[string]string)
	for _, f := range families {
		names[f.GetName()] = f.GetType().String()
	}
	for name, kind := range map[string]string{
		"go_goroutines": "GAUGE", "process_start_time_seconds": "GAUGE", "rota_build_info": "GAUGE",
		"rota_gap_seconds": "HISTOGRAM", "rota_round_lateness_seconds": "HISTOGRAM",
		"rota_rounds_skipped_total": "COUNTER", "rota_cluster_partitions": "GAUGE",
		"rota_malformed_definitions": "GAUGE",
	} {
		if names[name] != kind {
			t.Errorf("%s is %q, want %s", name, names[name], kind)
		}
	}
}

// TestEachSettingHasItsPlace: what each flag of rota run is for, by values that only one of them has.
func TestEachSettingHasItsPlace(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "src"), 0o700))
	cmd := newRun(env{})
	must.Succeed(t, cmd.ParseFlags(strings.Fields(`--store memory: --queue file:q --member m --protocol leader --ttl 11s
		--label k=v --weight 12 --capacity 13 --slots 14 --listen none --source s=`+dir+`/src --publish none
		--storage file:j --allow-net 10.0.0.0/8 --allow-exec /x --allow-env E --allow-tail /t --allow-write /w
		--no-sessions --hold 15s --guardian=false --drain-timeout 16s --state-dir /d --most-members 17 --witness /wit
		--tls-cert /c --tls-key /k --api-token env:T --api-tokens /users`)))
	c := must.Get(memberConfig(env{getenv: func(string) string { return "" }, stderr: io.Discard}, cmd, nil))(t)
	n := &c.node
	got := fmt.Sprint(c.store, c.queue, n.Member, c.protocol, n.TTL, n.Labels, n.Weight, n.Capacity, n.Slots, c.listen,
		c.sources, c.publish, c.storages, c.allow.net, c.allow.exec, c.allow.env, c.allow.tail, c.allow.write,
		n.NoSessions, n.Hold, c.guarded, n.DrainTimeout, c.stateDir, c.most, n.WitnessPath, c.cert, c.key, c.token, c.users)
	want := "memory: file:q m leader 11s map[k:v] 12 13 14 none [s=" + dir + "/src] [none] [file:j] [10.0.0.0/8] [/x] [E] " +
		"[/t] [/w] true 15s false 16s /d 17 /wit /c /k env:T /users"
	if plain := strings.NewReplacer(" ", ""); plain.Replace(got) != plain.Replace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
