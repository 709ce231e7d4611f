package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// world is a cluster that changes between a look and a write as the test says.
type world struct {
	t       *testing.T
	v       cluster.Value
	between func() // before the next proposal
	away    error  // what a proposal gets instead of an answer
	mute    bool   // it gets none
	told    []journal.Record
	at      cluster.Index
	frailty
}

func (w *world) Value(context.Context) (cluster.Value, error) { return w.v, w.call() }

func (w *world) Changed() <-chan struct{} { return nil }

func (w *world) Record(_ context.Context, records ...journal.Record) error {
	w.told = append(w.told, records...)
	return w.call()
}

func (w *world) Propose(_ context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	if f := w.between; f != nil {
		w.between = nil
		f()
	}
	if err := cmp.Or(w.away, w.call()); err != nil || w.mute {
		return nil, err
	}
	w.at++
	results := make([]cluster.Result, len(commands))
	for i, c := range commands {
		w.v, results[i] = w.v.Do(w.at, 1000, c)
	}
	return results, nil
}

// others do something that this operator does not see before its write.
func (w *world) others(commands ...cluster.Command) {
	w.t.Helper()
	defer func(f frailty) { w.frailty = f }(w.frailty)
	w.frailty = frailty{}
	for _, c := range commands {
		if r, err := w.Propose(w.t.Context(), c); err != nil || !r[0].Accepted {
			w.t.Fatalf("%v: %v, %v", c, r, err)
		}
	}
}

// newWorld has a member a, which declares the source "tasks".
func newWorld(t *testing.T) (*world, *Operator, store.Docs) {
	t.Helper()
	w := &world{t: t}
	e := cluster.Entry{Index: 1, Writer: "a", Seq: 1, AtMS: 1, Commands: []cluster.Command{
		cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a",
			Labels: []cluster.Label{{Key: directory.LabelKey("tasks"), Value: "yes"}}},
	}}
	w.v, _ = w.v.Apply(e)
	w.at = 1
	docs := memory.New().Open()
	t.Cleanup(func() { docs.Close() })
	return w, New(w, docs, nil, work.Types{"check": {Name: "check", Periodic: true}}, "ann@laptop"), docs
}

func spec(typ string) cluster.JobSpec {
	return cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: typ, Definition: []byte(`{"every":"1m"}`)}}}
}

// What others do between the look and the write is not undone: a job that they have killed does not run again, and what
// they have submitted is not replaced.
func TestNothingIsUndone(t *testing.T) {
	t.Parallel()
	submit := cluster.SubmitJob{Job: "x", Spec: spec("check")}
	kill := cluster.KillJob{Job: "x"}
	old := cluster.SubmitJob{Job: "x", Spec: spec("old")}
	for what, c := range map[string]struct {
		before, between []cluster.Command
		mode            Mode
		want            error
		state           cluster.JobState
	}{
		"submitted and killed": {nil, []cluster.Command{submit, kill}, 0, ErrKilled, cluster.JobKilled},
		"killed before an update": {[]cluster.Command{old}, []cluster.Command{kill}, Update, ErrKilled,
			cluster.JobKilled},
		"killed, and killed again": {[]cluster.Command{old, kill}, []cluster.Command{submit, kill}, 0,
			ErrKilled, cluster.JobKilled},
		"submitted with another task": {nil, []cluster.Command{old}, 0, ErrRefused, cluster.JobRunning},
		"submitted alike":             {nil, []cluster.Command{submit}, 0, nil, cluster.JobRunning},
		"run again by somebody, and ended": {[]cluster.Command{submit, kill}, []cluster.Command{submit, kill}, Again,
			nil, cluster.JobKilled},
		"killed long ago": {[]cluster.Command{submit, kill}, nil, Again, nil, cluster.JobRunning},
		"replaced before an update": {[]cluster.Command{old}, []cluster.Command{kill, submit}, Update, nil,
			cluster.JobRunning},
	} { // order-free: each by itself
		w, o, _ := newWorld(t)
		w.others(c.before...)
		w.between = func() { w.others(c.between...) }
		_, err := o.Submit(t.Context(), "x", submit.Spec, c.mode)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if j, _ := w.v.Job("x"); j.State != c.state {
			t.Errorf("%s: the job is %s, want %s", what, j.State, c.state)
		}
	}
	at := func(version string) cluster.JobSpec { s := spec("check"); s.Version = version; return s }
	for _, c := range []struct{ before, between []cluster.Command }{
		{nil, []cluster.Command{cluster.SubmitJob{Job: "x", Spec: at("3")}}},
		{[]cluster.Command{cluster.SubmitJob{Job: "x", Spec: at("1")}},
			[]cluster.Command{cluster.UpdateJob{Job: "x", Spec: at("3")}}},
	} { // order-free: each by itself
		w, o, _ := newWorld(t)
		w.others(c.before...)
		w.between = func() { w.others(c.between...) }
		_, err := o.Apply(t.Context(), "x", at("2"), 2)
		if j, _ := w.v.Job("x"); !errors.Is(err, ErrOlder) || j.Spec.Version != "3" {
			t.Errorf("version 2 after 3: %v, and it runs version %s", err, j.Spec.Version)
		}
	}
	w, o, _ := newWorld(t)
	w.others(submit)
	n := 0
	var change func()
	change = func() {
		n++
		w.others(cluster.UpdateJob{Job: "x", Spec: spec(fmt.Sprint("other", n))})
		w.between = change
	}
	w.between = change
	if _, err := o.Submit(t.Context(), "x", spec("new"), Update); !errors.Is(err, ErrRefused) || n != tries {
		t.Errorf("where others change it all the time: %v, after %d tries", err, n)
	}
	s := submission{SubmitJob: submit}
	if cmd, err := s.decide(&cluster.Job{ID: "x", State: cluster.JobFailed, SpecIndex: 7,
		Spec: &submit.Spec}); cmd == nil || err != nil {
		t.Errorf("a job that has failed is not submitted again: %v, %v", cmd, err)
	}
}

// late is the world as a member has it that hears of changes when the test says so.
type late struct {
	*world
	seen    cluster.Value
	changed chan struct{}
	looks   int
	hears   int // the look behind which it hears of what has changed; 0: none
}

func (l *late) Value(context.Context) (cluster.Value, error) {
	seen := l.seen
	if l.looks++; l.looks == l.hears {
		l.hear()
	}
	return seen, nil
}

func (l *late) Changed() <-chan struct{} { return l.changed }

func (l *late) hear() {
	heard := l.changed
	l.seen, l.changed = l.v, make(chan struct{})
	close(heard)
}

// What a member does not know yet it waits for: its own submission, so that its next look shows it, and the change that
// came before an update.
func TestAMemberHearsLate(t *testing.T) {
	for what, before := range map[string][]cluster.Command{
		"its own submission": nil,
		"that of another":    {cluster.SubmitJob{Job: "x", Spec: spec("old")}},
	} { // order-free: each by itself
		t.Run(what, func(t *testing.T) { hearsLate(t, before, 0) })
		t.Run(what+", just behind its look", func(t *testing.T) { hearsLate(t, before, 2) })
	}
}

func hearsLate(t *testing.T, before []cluster.Command, hears int) {
	virtual.Test(t, func(t *testing.T) {
		w, _, _ := newWorld(t)
		l := &late{world: w, seen: w.v, changed: make(chan struct{}), hears: hears}
		w.others(before...)
		tried, done := w.at, make(chan error, 1)
		go func() {
			_, err := New(l, nil, nil, nil, "ann").Submit(t.Context(), "x", spec("check"), Update)
			done <- err
		}()
		synctest.Wait()
		if tried = w.at - tried; hears == 0 {
			if len(done) != 0 || tried != 1 {
				t.Errorf("it has proposed %d times, and ended %d times, before it has heard", tried, len(done))
			}
			l.hear()
		}
		synctest.Wait()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if j, _ := w.v.Job("x"); j.Spec.Tasks[0].Type != "check" {
			t.Errorf("the job runs %s", j.Spec.Tasks[0].Type)
		}
	})
}

// Apply goes forward only: a job that was killed stays so, an older version is refused, and one version is one
// definition.
func TestApply(t *testing.T) {
	t.Parallel()
	at := func(version, typ string) *cluster.Job {
		s := spec(typ)
		s.Version = version
		return &cluster.Job{ID: "x", SpecIndex: 7, Spec: &s}
	}
	with := func(j *cluster.Job, s cluster.JobState) *cluster.Job { j.State = s; return j }
	for _, c := range []struct {
		old  *cluster.Job
		want string // the command, or the error
	}{
		{nil, "submit-job x check"},
		{at("2", "check"), "nothing"},
		{at("1", "check"), "update-job x check"},
		{at("", "check"), "update-job x check"},
		{with(at("1", "check"), cluster.JobCompleted), "submit-job x check"},
		{with(at("2", "check"), cluster.JobCompleted), "nothing"},
		{with(at("2", "check"), cluster.JobKilled), ErrKilled.Error()},
		{with(at("3", "check"), cluster.JobKilled), ErrKilled.Error()},
		{at("3", "check"), ErrOlder.Error() + ": 3, this is 2"},
		{at("2", "old"), "a change needs a higher Version"},
		{at("v2", "check"), "not a number: it is not of Apply"},
	} {
		s := spec("check")
		s.Version = "2"
		cmd, err := apply(c.old, "x", s, 2)
		got := "nothing"
		switch {
		case err != nil:
			got = err.Error()
		case cmd != nil:
			got = said(cmd)
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("after %+v: %s, want %s", c.old, got, c.want)
		}
	}
}

// Each request that changes something has one record, which says what and who; one that changes nothing has none.
func TestRequestsAreJournaled(t *testing.T) {
	t.Parallel()
	w, o, docs := newWorld(t)
	ctx := t.Context()
	for _, c := range []struct {
		do              func() (Answer, error)
		said, partition string
	}{
		{func() (Answer, error) { return o.Submit(ctx, "x", spec("check"), 0) }, "submit-job x check", "x"},
		{func() (Answer, error) { return o.Submit(ctx, "x", spec("check"), 0) }, "", ""},
		{func() (Answer, error) { return o.Submit(ctx, "x", spec("copy"), Update) }, "update-job x copy", "x"},
		{func() (Answer, error) { return o.Submit(ctx, "x", spec("check"), Update) }, "update-job x check", "x"},
		{func() (Answer, error) { _, a, err := o.RunNow(ctx, "x"); return a, err }, "run-now x", "x"},
		{func() (Answer, error) { return o.Pause(ctx, "x") }, "pause-job x", "x"},
		{func() (Answer, error) { return o.Resume(ctx, "x") }, "resume-job x", "x"},
		{func() (Answer, error) { return o.Kill(ctx, "x") }, "kill-job x", "x"},
		{func() (Answer, error) { return o.Drain(ctx, "a") }, "drain-member a", ""},
		{func() (Answer, error) { return o.Undrain(ctx, "a") }, "undrain-member a", ""},
		{func() (Answer, error) { return o.Configure(ctx, cluster.Configure{Retention: 7}) }, "configure retention=7",
			""},
	} {
		w.told = nil
		a, err := c.do()
		var want []journal.Record
		if c.said != "" {
			want = []journal.Record{{Kind: journal.Asked, Message: c.said, Partition: c.partition, By: "ann@laptop"}}
		}
		if a.Said != cmp.Or(c.said, "submit-job x check") || a.Updated != strings.HasPrefix(c.said, "update-job") {
			t.Errorf("%q: %+v", c.said, a)
		}
		if err != nil || a.Changed != (c.said != "") || !slices.Equal(w.told, want) {
			t.Errorf("%s: %+v, %v; the journal has %+v", c.said, a, err, w.told)
		}
	}
	w.told = nil
	var refused *RefusedError
	if _, err := o.Unpark(ctx, "x"); !errors.As(err, &refused) || refused.Said != "unpark-partition x" ||
		w.told != nil {
		t.Errorf("unpark what is not parked: %v, the journal has %v", err, w.told)
	}
	for _, id := range []cluster.JobID{"none", "x"} { // x is no flow
		if n, a, err := o.RetryDead(ctx, id); !errors.As(err, &refused) || n != 0 || a.Changed || w.told != nil {
			t.Errorf("dead letters of %s: %d, %v, %v", id, n, err, w.told)
		}
	}
	var invalid *InvalidError
	for _, id := range []cluster.JobID{"rota.x", "a b", ""} {
		if _, err := o.Submit(ctx, id, spec("check"), 0); !errors.As(err, &invalid) {
			t.Errorf("submit %q: %v", id, err)
		}
		if err := CheckJob(id, spec("check")); !errors.As(err, &invalid) {
			t.Errorf("check %q: %v", id, err)
		}
	}
	for _, do := range []func(context.Context, cluster.JobID) (Answer, error){o.Pause, o.Kill} {
		if _, err := do(ctx, "rota.x"); !errors.As(err, &invalid) {
			t.Errorf("a job of Rota's own: %v", err)
		}
	}
	if _, err := o.Resume(ctx, "a b"); !errors.As(err, &invalid) {
		t.Errorf("a job that cannot be: %v", err)
	}
	if got := subject(cluster.UnparkPartition{Partition: "x#p"}); got != "x#p" {
		t.Errorf("the record of an unparked task is about %q", got)
	}
	asks := must.Get(docs.List(ctx, "run-now/"))(t)
	if len(asks) != 1 || !strings.Contains(string(asks[0].Value), "ann@laptop") {
		t.Errorf("a round is asked for by %v", asks)
	}
	w.mute = true
	if _, err := o.Resume(ctx, "x"); err == nil {
		t.Error("no answer is taken for one")
	}
}

// A file's job would be back at once, so the kill says what to do; where no member has its source it ends, and stays
// so.
func TestAFilesJobIsNotKilled(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{"tasks": "remove its file", "others": ""} { // order-free: each by itself
		w, o, _ := newWorld(t)
		s := spec("check")
		s.Source = source
		w.others(cluster.SubmitJob{Job: "x", Spec: s})
		_, err := o.Kill(t.Context(), "x")
		var refused *RefusedError
		j, _ := w.v.Job("x")
		if killed := j.State == cluster.JobKilled; killed != (want == "") || !killed &&
			(!errors.As(err, &refused) || !strings.Contains(refused.Try, want)) {
			t.Errorf("%s: killed %t, %v", source, killed, err)
		}
	}
	w, o, _ := newWorld(t)
	s := spec("check")
	s.Source = "tasks"
	w.others(cluster.SubmitJob{Job: "x", Spec: s}, cluster.KillJob{Job: "x"})
	var refused *RefusedError
	if _, err := o.Kill(t.Context(), "x"); !errors.As(err, &refused) || refused.Try != "" {
		t.Errorf("a job of a file that has ended: %+v", err)
	}
	w.told = nil
	if _, err := o.For("bob").Drain(t.Context(), "a"); err != nil || w.told[0].By != "bob (ann@laptop)" {
		t.Errorf("a drain that bob asks for: %v, %+v", err, w.told)
	}
	w.told = nil
	if _, err := o.Undrain(t.Context(), "a"); err != nil || w.told[0].By != "ann@laptop" {
		t.Errorf("what ann asks for after that: %v, %+v", err, w.told)
	}
}

// Thousands of tasks are pruned some hundreds at a time. What was pruned before the store went away is said, and so is
// what had ended by itself.
func TestAPruneThatStops(t *testing.T) {
	t.Parallel()
	w, o, docs := newWorld(t)
	s := spec("check")
	s.Source = "tasks"
	for i := range 2*pruned + 1 {
		w.others(cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("x%04d", i)), Spec: s})
	}
	must.Succeed(t, must.Err(docs.Put(t.Context(),
		store.Doc{Key: "source/tasks/a", Value: []byte(`{"incarnation":1}`)})))
	if _, err := o.Prune(t.Context(), "others"); !errors.Is(err, ErrRefused) {
		t.Errorf("of a source that no member has: %v", err)
	}
	w.told = nil
	w.between = func() { w.between = func() { w.away = store.ErrUnavailable } }
	if done, err := o.Prune(t.Context(), "tasks"); !errors.Is(err, w.away) || len(done) != pruned ||
		done[0].Said != "kill-job x0000" || len(w.told) != pruned || w.told[pruned-1].Partition != "x0199" {
		t.Errorf("%d, %v; the journal has %d", len(done), err, len(w.told))
	}
	w.away = nil
	w.between = func() { w.others(cluster.KillJob{Job: "x0210"}, cluster.KillJob{Job: "x0220"}) }
	var refused *RefusedError
	if done, err := o.Prune(t.Context(), "tasks"); !errors.As(err, &refused) || refused.Said != "kill-job x0210" ||
		len(done) != pruned-2 {
		t.Errorf("two have ended meanwhile: %d, %v", len(done), err)
	}
	if done, err := o.Prune(t.Context(), "tasks"); err != nil || len(done) != 1 {
		t.Errorf("the rest: %d, %v", len(done), err)
	}
}

// A command reads nothing that another protocol has written.
func TestAnotherProtocol(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	must.Succeed(t, protocol.Claim(t.Context(), docs, protocol.Place{Protocol: "lease"}))
	var other *protocol.OtherProtocolError
	c := Outside(replica.Protocol{}, docs, "ann")
	if _, err := c.Value(t.Context()); !errors.As(err, &other) || other.Has != "lease" {
		t.Error(err)
	}
	must.Succeed(t, c.Record(t.Context(), journal.Record{Kind: journal.Asked}))
	recent := journal.Query{Since: time.Now().Add(-time.Hour)}
	if r, err := journal.NewDocs(docs, "x", 0).Read(t.Context(), recent); len(r) != 1 || err != nil {
		t.Errorf("the journal of the last hour has %v, %v", r, err)
	}
}

// The document that says that a member is drained goes when the cluster has agreed, and not before.
func TestADrainIsKeptUntilTheClusterAgrees(t *testing.T) {
	t.Parallel()
	w, o, docs := newWorld(t)
	ctx := t.Context()
	kept := func() bool { _, err := docs.Get(ctx, "drain/a"); return err == nil }
	if _, err := o.Drain(ctx, "a"); err != nil || !kept() {
		t.Fatalf("drain: %v, kept %t", err, kept())
	}
	w.away = errors.New("the store is away")
	if _, err := o.Undrain(ctx, "a"); !errors.Is(err, w.away) || !kept() {
		t.Errorf("undrain while the store is away: %v, kept %t", err, kept())
	}
	w.away = nil
	w.others(cluster.LeaveCluster{Member: "a", Incarnation: 1, Reason: "maintenance"})
	if _, err := o.Undrain(ctx, "a"); err != nil || kept() {
		t.Errorf("undrain while it is down: %v, kept %t", err, kept())
	}
	if _, err := o.Undrain(ctx, "a"); !errors.Is(err, ErrRefused) {
		t.Errorf("undrain nobody: %v", err)
	}
	if _, err := o.Drain(ctx, "a"); !errors.Is(err, ErrRefused) || kept() {
		t.Errorf("drain nobody: %v, kept %t", err, kept())
	}
}

// A request for a round that the store does not take is no refusal, and says how many it has taken.
func TestRunNowWhereTheStoreIsAway(t *testing.T) {
	t.Parallel()
	w, _, _ := newWorld(t)
	s := spec("check")
	s.Tasks[0].Spread, s.Tasks[0].Partitions = cluster.SpreadPartitioned, []string{"p", "q"}
	w.others(cluster.SubmitJob{Job: "x", Spec: s})
	inner := memory.New().Open()
	defer inner.Close()
	plan := must.Get(faults.Script("refuse put after=1"))(t)
	o := New(w, faults.NewFaulty(inner, plan), nil, work.Types{"check": {Name: "check", Periodic: true}}, "ann")
	asks, _, err := o.RunNow(t.Context(), "x")
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, ErrRefused) || len(asks) != 1 ||
		!strings.Contains(err.Error(), "1 of 2 were asked") || len(w.told) != 1 {
		t.Errorf("got %v, %v, the journal has %v", asks, err, w.told)
	}
	if _, _, err := o.RunNow(t.Context(), "y"); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// TestEvict: a member is told before it is drained, for then it looks; who has announced a restart is waited for no
// longer.
func TestEvict(t *testing.T) {
	t.Parallel()
	w, o, docs := newWorld(t)
	w.others(cluster.PrepareJoin{Member: "b", Heartbeat: "pulse/b"},
		cluster.AcceptJoin{Member: "b", Incarnation: 2, By: "a", ByIncarnation: 1})
	evict := func(there, draining bool) {
		t.Helper()
		w.told = nil
		a, err := o.Evict(t.Context(), "a")
		if m, ok := w.v.Member("a"); err != nil || !a.Changed || ok != there || m.Draining != draining {
			t.Errorf("%v: it is %+v", err, m)
		}
		if want := []journal.Record{{Kind: journal.Asked, Message: "evict-member a",
			By: "ann@laptop"}}; !slices.Equal(w.told, want) {
			t.Errorf("the journal has %+v", w.told)
		}
	}
	w.between = func() {
		if d, err := docs.Get(t.Context(), "evict/a"); err != nil ||
			!strings.Contains(string(d.Value), `"incarnation":1`) {
			t.Errorf("%v: it is told %s", err, d.Value)
		}
	}
	evict(true, true)
	w.others(cluster.DrainMember{Member: "a"}, cluster.LeaveCluster{Member: "a", Incarnation: 1, Reason: "restart",
		Hold: true})
	evict(false, false)
	var refused *RefusedError
	if _, err := o.Evict(t.Context(), "a"); !errors.As(err, &refused) || refused.Said != "evict-member a" ||
		refused.Try == "" {
		t.Errorf("it is there no more: %v", err)
	}
}

// TestARefusalIsSaidOnce: the error of a command that the store refuses names the call of the store once.
func TestARefusalIsSaidOnce(t *testing.T) {
	t.Parallel()
	st := memory.New().Open()
	defer st.Close()
	large := spec("check")
	large.Tasks[0].Definition = make([]byte, memory.MaxRecord)
	_, err := must.Get(replica.Protocol{}.Client(st))(t).Propose(t.Context(), cluster.SubmitJob{Job: "x", Spec: large})
	if !errors.Is(err, store.ErrTooLarge) || strings.Count(err.Error(), "append") != 1 {
		t.Errorf("got %v, want ErrTooLarge that says append once", err)
	}
}
