package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestWords: numbers and times as people read them.
func TestWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.Local)
	ms := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	full := &view.Reason{Rule: "slots", Text: "none is free"}
	one, _ := cluster.Value{}.Apply(cluster.Entry{Index: 1, Writer: "a", Seq: 1, Commands: []cluster.Command{
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"}}})
	two, _ := one.Apply(cluster.Entry{Index: 2, Writer: "b", Seq: 1, Commands: []cluster.Command{
		cluster.PrepareJoin{Member: "b", Heartbeat: "q"},
		cluster.AcceptJoin{Member: "b", Incarnation: 2, By: "a", ByIncarnation: 1}}})
	for want, got := range map[string]string{
		"999": grouped(999), "1,000": grouped(1000), "-100": grouped(-100), "-48,211,000": grouped(-48211000),
		"-": ago(0, now), "now": ago(ms(999*time.Millisecond), now), "59s": ago(ms(59*time.Second), now),
		"59m": ago(ms(59*time.Minute+59*time.Second), now),
		"47h": ago(ms(47*time.Hour+59*time.Minute), now), "2d": ago(ms(48*time.Hour), now),
		"11:59:00": clock(ms(time.Minute), now), "2026-11-23 23:59:59": clock(ms(12*time.Hour+time.Second), now),
		"999 ms": gapText(999), "1.0 s": gapText(1000), "-1.5 s": gapText(-1500),
		"1 2 3 4 5 6 7 8 and 1 more": slotList(strings.Fields("1 2 3 4 5 6 7 8 9")),
		"disk=ssd,zone=a":            labelText(map[string]string{"zone": "a", "rota.source.x": "1", "disk": "ssd"}),
		" (draining)":                memberNote(&view.PlanMember{State: "draining", Weight: 50}),
		" (held)":                    memberNote(&view.PlanMember{State: "held"}),
		" (weight 50)":               memberNote(&view.PlanMember{State: "joined", Weight: 50}),
		"":                           memberNote(&view.PlanMember{State: "joined", Weight: 100}),
		"2/4":                        slotText(view.Member{Slots: 4, SlotsTaken: 2}),
		"done":                       taskLine(&view.JobTask{State: view.Done, Failures: 3, Message: "no"}),
		"running": taskLine(&view.JobTask{State: view.Running,
			Reason: &view.Reason{Rule: "slots", Text: "none is free"}}),
		"about 5s ago": heartbeatText(&view.Heartbeat{State: view.HeartbeatPresent, AtMS: ms(5 * time.Second)}, now),
		"a, b (failing) (2 slots), c, and 2 more": runningText(&view.Job{Job: "x", Tasks: []view.JobTask{
			{Task: "x/a", State: view.Running}, {Task: "x/b", State: view.Failing, Slots: []string{"m:1", "m:2"}},
			{Task: "x/done", State: view.Done}, {Task: "x/c", State: view.Running}, {Task: "x/d", State: view.Running},
			{Task: "x/e", State: view.Running},
		}}),
		"slots: none is free, it broke": jobNote(&view.Job{Reason: full}) + ", " + jobNote(&view.Job{Message: "it broke"}),
		"[] [slots: none is free] [failed 3 times: no]": fmt.Sprintf("[%s] [%s] [%s]",
			taskNote(&view.JobTask{State: view.Done, Failures: 3, Message: "no", Reason: full})+
				taskNote(&view.JobTask{State: view.Done, Failures: 3, Message: "no"}),
			taskNote(&view.JobTask{State: "waiting", Failures: 3, Message: "no", Reason: full}),
			taskNote(&view.JobTask{State: view.Failing, Failures: 3, Message: "no"})),
		"x is waiting: slots: none is free": partLine(&view.Task{Task: "x", State: "waiting", Reason: full}),
		"- 1,000": partitionText(&view.JobTask{Spread: "pool", Partitions: view.TaskCounts{Total: 2}}) + " " +
			partitionText(&view.JobTask{Spread: "single", Partitions: view.TaskCounts{Total: 1000}}),
		"0 tasks to keep for its restart, at most 5s · once more to end at once": leavingText(two, "a", 5*time.Second,
			time.Minute),
		"0 tasks to hand over, at most 10s · once more to end at once":       leavingText(two, "a", 0, 10*time.Second),
		"0 tasks and no other member to take any · once more to end at once": leavingText(one, "a", 5*time.Second, 9),
		"left gracefully": leftText(protocol.Status{}),
		"ended while the store did not answer: others take its tasks when they reach it": leftText(
			protocol.Status{StoreError: "full"}),
		"rota.x false, etl.load true, noop false": fmt.Sprintf("rota.x %t, etl.load %t, noop %t", foreignType("rota.x"),
			foreignType("etl.load"), foreignType("noop")),
		`\&.x` + "\n" + `\&'y \eb\-c\[u00FC]`: roff(".x\n'y " + `\b-cü`),
		"+ member a joined, 2 tasks": strings.Join(differenceRows(view.Difference{Members: []view.MemberChange{
			{Member: "a", After: &view.Member{State: "joined", Tasks: 2}},
		}})[0], " "),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWhyInWords: all that is known of a task, and entries of the log that did nothing.
func TestWhyInWords(t *testing.T) {
	t.Parallel()
	var out output.Text
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.Local)
	at := func(ago time.Duration) int64 { return now.Add(-ago).UnixMilli() }
	o := &observer{env: env{stdout: &out, stderr: &out}, now: now}
	old := journal.Record{AtMS: at(time.Hour), Kind: journal.RunError, Message: "no",
		Storage: &journal.Storage{Lines: []string{"old line"}}}
	must.Succeed(t, o.printWhy(&view.Why{
		Task: view.Task{Task: "x", State: view.Moving, Owner: "a", Next: "b", SinceMS: at(time.Minute), From: "c",
			Cause: "a is draining", Token: 7, Slots: []string{"a:1"}},
		Labels: map[string]string{"zone": "z"}, LastRoundMS: at(3 * time.Minute), NextRoundMS: at(-2 * time.Minute),
		NotRunning: []view.Task{{Task: "x#k", State: "waiting", Reason: &view.Reason{Rule: "pin", Text: "b is away"}}},
		History:    []journal.Record{old},
	}))
	must.Succeed(t, o.printWhy(&view.Why{
		Task:    view.Task{Task: "y", State: view.Malformed, Owner: "a", From: "c", Cause: "c left"},
		History: []journal.Record{old, {AtMS: at(0), Kind: journal.Malformed}},
	}))
	for _, c := range []view.Command{{Said: "kill-job x", Accepted: true}, {Said: "kill-job y", Reason: "no such job"}} {
		must.Succeed(t, o.printEntry(view.Entry{Index: 3, AtMS: at(0), Writer: "w", Duplicate: c.Accepted,
			Commands: []view.Command{c}}))
	}
	o.journaled(operate.Answer{Unheard: errors.New("deaf")})
	o.journaled(operate.Answer{Unjournaled: errors.New("full")})
	o.complain(errors.Join(errors.New("one"), errors.New("two")), nil)
	if text := out.String(); !containsAll(text, []string{
		"x is moving on a, on its way to b since 11:59:00 (1m).\n  because a is draining\n", "y is malformed on a.\n  came    from c: c left\n", "  labels  zone=z\n",
		"  token   7\n", "  slots   a:1\n", "  rounds  last at 11:57:00, next at 12:02:00\n",
		"  part    x#k is waiting: pin: b is away\n", "history\n  11:00:00  run-error  no\n",
		"\n3  12:00:00  w  (a duplicate: did nothing) kill-job x\n3  12:00:00  w  kill-job y (did nothing: no such job)\n",
		"see it within 20 s: deaf\n", "not in the journal: full\n", "rota: one; two\n",
	}) || strings.Contains(text, "old line") {
		t.Errorf("it says\n%s", text)
	}
}

// TestWhoAsks: who runs a command under sudo is who typed it.
func TestWhoAsks(t *testing.T) {
	t.Parallel()
	for want, vars := range map[string]map[string]string{
		"ann@": {"SUDO_USER": "ann", "USER": "root", "LOGNAME": "root"}, "bob@": {"USER": "bob", "LOGNAME": "eve"},
		"eve@": {"LOGNAME": "eve"}, "uid-": {},
	} {
		if got := asker(env{getenv: func(name string) string { return vars[name] }}); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %s…", got, want)
		}
	}
}

// TestAgain: what is left out is shown by the same command with a flag more.
func TestAgain(t *testing.T) {
	t.Parallel()
	o := &observer{url: "file:x y", args: []string{"a b"}, cmd: &cobra.Command{Use: "list"}, named: true}
	f := o.cmd.Flags()
	f.StringSlice("kind", nil, "")
	f.String("task", "", "")
	f.Bool("own", false, "")
	f.Int("limit", 1, "")
	f.String("store", "", "")
	must.Succeed(t, f.Parse([]string{"--kind", "moved,asked", "--task", "a b", "--own", "--limit", "2", "--store",
		"file:x y"}))
	const want = "list 'a b' --kind moved,asked --own --task 'a b' --limit 20 --store 'file:x y'"
	if got := o.again("--limit 20"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestDraining: who waits for a drain is told how it goes, and what a person must do.
func TestDraining(t *testing.T) {
	t.Parallel()
	value := func(n int, draining bool) cluster.Value {
		parts := cluster.Parts{Index: 9,
			Members: []cluster.Member{{ID: "a", State: cluster.MemberJoined, Incarnation: 1, Draining: draining}}}
		spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}
		for _, id := range []cluster.JobID{"rota.x", "j1", "j2", "j3"}[:n+1] {
			parts.Jobs = append(parts.Jobs, cluster.Job{ID: id, State: cluster.JobRunning, Spec: &spec})
			p := cluster.Partition{ID: cluster.PartitionID(id), Owner: "a", State: cluster.PartitionGranted, Token: 2}
			parts.Partitions = append(parts.Partitions, cluster.Part{Partition: p, By: 1})
		}
		return cluster.Assemble(parts)
	}
	out := &output.Text{}
	start := time.Now()
	d := &draining{observer: &observer{env: env{stdout: out, stderr: out}, now: start, name: "file:x",
		cmd: &cobra.Command{Use: "drain"}}, member: "a"}
	see := func(v cluster.Value, after time.Duration) (bool, error) {
		d.value, d.now = v, start.Add(after)
		return d.see()
	}
	last := drainPatience + 9*time.Second // one has gone meanwhile
	for i, at := range []time.Duration{0, 10 * time.Second, last} {
		if over, err := see(value(3-i, true), at); over || err != nil {
			t.Fatalf("after %s: %t, %v", at, over, err)
		}
	}
	if text := out.String(); !strings.Contains(text, "a has 3 tasks") ||
		!strings.Contains(text, "a has 2 tasks, about 20s more") {
		t.Errorf("it said %s", text)
	}
	if over, err := see(value(1, true), last+drainPatience); !over || err == nil ||
		!strings.Contains(err.Error(), "still has 1 task, and none has gone for 2m") {
		t.Errorf("where nothing goes: %t, %v", over, err)
	}
	if over, err := see(value(2, false), time.Minute); !over || err == nil ||
		!strings.Contains(err.Error(), "somebody has undrained it") {
		t.Errorf("undrained: %t, %v", over, err)
	}
	if over, err := see(value(0, true), time.Minute); !over || err != nil {
		t.Errorf("with none but Rota's own: %t, %v", over, err)
	}
	if over, err := see(cluster.Value{}, time.Minute); !over || err != nil {
		t.Errorf("gone: %t, %v", over, err)
	}
}

// TestSinksThatFailComeFirst: samples that were dropped are a failure, and who has left says nothing more.
func TestSinksThatFailComeFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sink node.Sink
		want int
	}{{node.Sink{}, 1}, {node.Sink{Dropped: 1}, 0}, {node.Sink{Errors: 1}, 0}, {node.Sink{Late: true}, 0}} {
		if got := (&memberSink{"a", c.sink}).rank(); got != c.want {
			t.Errorf("%+v comes at %d", c.sink, got)
		}
	}
}

// TestTokensStayHere: a token goes over TLS or to this machine, and follows nobody elsewhere.
func TestTokensStayHere(t *testing.T) {
	t.Parallel()
	for url, sent := range map[string]bool{
		"https://web:7600/": true, "http://127.0.0.1:7600/": true, "http://[::1]:7600/": true,
		"http://web:7600/": false, "http://10.0.0.1:7600/": false,
	} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		must.Succeed(t, err)
		err = authorize(r, "env:T", func(string) string { return "secret" })
		if has := r.Header.Get("Authorization") == "Bearer secret"; has != sent || (err == nil) != sent {
			t.Errorf("%s: sent %t, %v", url, has, err)
		}
	}
	if err := stay(nil, nil); !errors.Is(err, http.ErrUseLastResponse) {
		t.Errorf("a redirect: %v", err)
	}
}

// TestStatesAsTheyAreShown: --state also takes a state as lists print it, with a blank.
func TestStatesAsTheyAreShown(t *testing.T) {
	t.Parallel()
	for state, known := range map[string]bool{"": true, "backing off": true, "backing-off": true, "backing": false} {
		if err := checkState(state, view.TaskStates()); (err == nil) != known {
			t.Errorf("%q: %v", state, err)
		}
	}
}

// TestWhatHasNoRoomIsCounted: the count of problems that are not shown includes those that members had no room to list.
func TestWhatHasNoRoomIsCounted(t *testing.T) {
	t.Parallel()
	var out output.Text
	o := &observer{env: env{stdout: &out}, cmd: &cobra.Command{Use: "status"}}
	status := view.Status{Digest: "0123456789", Moves: &view.Moves{}, Problems: make([]view.Problem, problemsShown+1),
		More: 4}
	must.Succeed(t, o.printStatus(overview{Status: status}))
	if !strings.Contains(out.String(), "and 5 more: ") {
		t.Errorf("it says\n%s", out.String())
	}
}

// TestALongNameMakesNoWideTable: the table cuts a long name off, and only the command to copy has all of it.
func TestALongNameMakesNoWideTable(t *testing.T) {
	t.Parallel()
	var out output.Text
	name := "checks/" + strings.Repeat("n", 240) + ".yaml"
	o := &observer{env: env{stdout: &out}, cmd: &cobra.Command{Use: "status"}}
	must.Succeed(t, o.printStatus(overview{Status: view.Status{Digest: "0123456789", Moves: &view.Moves{},
		Problems: []view.Problem{{State: "malformed", Task: name}, {State: "failing", Task: "b"}}}}))
	if text := out.String(); strings.Count(text, name) != 1 || !strings.Contains(text, name[:60]+"…") {
		t.Errorf("it says\n%s", text)
	}
}

// TestNothingRunsAgain: submitting a completed job again says that nothing runs.
func TestNothingRunsAgain(t *testing.T) {
	t.Parallel()
	var out output.Text
	spec := one(cluster.SpreadSingle)
	v := cluster.Assemble(cluster.Parts{Index: 4,
		Jobs: []cluster.Job{{ID: "etl", State: cluster.JobCompleted, Spec: &spec}}})
	must.Succeed(t, (&submission{job: "etl"}).tell(&observer{env: env{stdout: &out, stderr: &out}, value: v},
		operate.Answer{}))
	if !strings.Contains(out.String(), "etl is completed already, by this very definition: nothing runs again") {
		t.Errorf("it says\n%s", out.String())
	}
}

// TestSubmitAgain: a job is to be submitted again where that may help, and not where the store refuses it.
func TestSubmitAgain(t *testing.T) {
	t.Parallel()
	o := &observer{url: "etcd://h/x"}
	for err, want := range map[error]string{ // order-free: each by itself
		store.ErrUnknown: "submit it again", store.ErrUnavailable: "submit it again",
		errors.New("permission denied"): "rota store check etcd://h/x",
	} {
		var f *fault
		if got := (&submission{}).fault(o, fmt.Errorf("propose: %w", err)); !errors.As(got, &f) ||
			!strings.Contains(f.try, want) {
			t.Errorf("%v: %v, try %q", err, got, f.try)
		}
	}
}

// brief is a store whose sessions last for at most a second.
type brief struct {
	store.Full
	store.Sessions
}

func (brief) SessionsExpire() bool { return true }

func (b brief) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	if ttl > time.Second {
		return nil, fmt.Errorf("open session: %w", store.ErrTTL)
	}
	return b.Sessions.OpenSession(ctx, ttl)
}

// TestALongTTL: a member does not start with a TTL for which the store grants no session.
func TestALongTTL(t *testing.T) {
	t.Parallel()
	m := memory.New().Open()
	for ttl, want := range map[time.Duration]error{time.Second: nil, time.Minute: store.ErrTTL} { // order-free: each by itself
		c := &config{node: node.Config{TTL: ttl, Logger: slog.New(slog.DiscardHandler)}}
		if err := c.tryTTL(t.Context(), brief{m, m}); !errors.Is(err, want) {
			t.Errorf("a ttl of %v: %v", ttl, err)
		}
		c.node.NoSessions = true
		must.Succeed(t, c.tryTTL(t.Context(), brief{m, m}))
	}
}

// TestWhoIsAwayOffersNothing: the functions of a member that has announced a restart do not count.
func TestWhoIsAwayOffersNothing(t *testing.T) {
	t.Parallel()
	own := Program{Functions: []call.Function{call.NewFunc("mine", func(context.Context, int) (int, error) { return 0, nil })}}
	if none, both := (&config{}).functions(), (&config{env: env{own: own}, node: node.Config{Slots: 1}}).functions(); none != nil ||
		len(both) != 2 || both[1].Name() != "mine" {
		t.Errorf("without slots %v, with slots %v", none, both)
	}
	for state, offers := range map[cluster.MemberState]bool{cluster.MemberJoined: true, cluster.MemberHeld: false} {
		m := cluster.Member{ID: "a", Incarnation: 1, State: state, Slots: 1}
		for k, v := range call.Labels((&config{node: node.Config{Member: "a", Slots: 1}}).functions()) { // order-free: there is one
			m.Labels = append(m.Labels, cluster.Label{Key: k, Value: v})
		}
		c := &caller{observer: &observer{value: cluster.Assemble(cluster.Parts{Index: 4,
			Members: []cluster.Member{m}})}}
		if err := c.offered("ping"); (err == nil) != offers {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// TestOldWordsSayHowOldTheyAre: what a member said of a failure a while ago is not shown as if it were new.
func TestOldWordsSayHowOldTheyAre(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := &observer{now: now}
	for old, want := range map[time.Duration]string{2 * time.Second: "", 3 * time.Second: "as of 3s ago: "} {
		if got := o.failedSince(&view.Task{AsOfMS: now.Add(-old).UnixMilli()}); !strings.HasSuffix(got, want) ||
			want == "" && got != "" {
			t.Errorf("%s old: %q", old, got)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"14:02": "2026-11-21T14:02:00Z", "13:59": "2026-11-22T13:59:00Z", "13:59:07": "2026-11-22T13:59:07Z",
		"2026-11-20 01:02":          "2026-11-20T01:02:00Z",
		"2026-11-20T01:02:03+01:00": "2026-11-20T00:02:03Z", "": "", "14": "", "25:00": "",
	} {
		got, ok := instantOf(text, now)
		if there, _ := instantOf("2026-11-20 01:02", now.In(time.FixedZone("", 3600))); there.UTC().Minute() != 2 ||
			there.UTC().Hour() != 0 {
			t.Errorf("in a zone of its own it is %s", there.UTC())
		}
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, want %s", text, got, want)
		}
	}
}
