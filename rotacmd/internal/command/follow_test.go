package command

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// moody is a store that is away for some reads, and does not answer the last of them.
type moody struct {
	store.Full
	away atomic.Int64 // reads that fail
}

func (m *moody) trouble(ctx context.Context) error {
	switch left := m.away.Add(-1); {
	case left > 0:
		return fmt.Errorf("read: %w", store.ErrUnavailable)
	case left == 0:
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (m *moody) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if err := m.trouble(ctx); err != nil {
		return store.Page{}, err
	}
	return m.Full.Read(ctx, after, limit)
}

func (m *moody) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := m.trouble(ctx); err != nil {
		return nil, err
	}
	return m.Full.List(ctx, prefix)
}

// WatchLog gives up at once: the clock is left.
func (m *moody) WatchLog(context.Context) (<-chan struct{}, error) {
	hints := make(chan struct{})
	close(hints)
	return hints, nil
}

// A follower outlives a store that is away for a while, says so once, and tells the end.
func TestFollowOutlivesTheStore(t *testing.T) {
	virtual.Test(t, followTrouble)
}

func followTrouble(t *testing.T) {
	ctx := t.Context()
	s := &moody{Full: memory.New().Open()}
	defer s.Close()
	c := replica.NewClient(s)
	say := func(cmd cluster.Command) {
		t.Helper()
		if res, err := c.Propose(ctx, cmd); err != nil || !res[0].Accepted {
			t.Fatalf("%v: %v, %v", cmd, res, err)
		}
	}
	say(cluster.SubmitJob{Job: "etl",
		Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPool}}}})
	var out, errs output.Text
	o := &observer{env: env{stdout: &out, stderr: &errs}, name: "moody", store: s, now: time.Now()}
	must.Succeed(t, o.refresh(ctx))
	looks, end := 0, view.Job{}
	kill := func() {
		if looks++; looks == 2 { // the line of the job: all was told of the first look
			s.away.Store(2)
			time.AfterFunc(2*answerWithin, func() { say(cluster.KillJob{Job: "etl"}) })
		}
	}
	told := o.follow(ctx, &follower{job: "etl", out: &onLine{&out, kill},
		last: func(j view.Job) error { end = j; return nil }})
	if told == nil || end.State != "killed" {
		t.Errorf("it ended with %v, the job is %q", told, end.State)
	}
	if said := errs.String(); strings.Count(said, "still waiting") != 1 || strings.Count(said, "answers again") != 1 {
		t.Errorf("it said %q", said)
	}
	if !strings.Contains(out.String(), "killed, 0 of 1 task done") {
		t.Errorf("it told %q", out.String())
	}
	seen := 0
	err := o.watch(ctx, func() (bool, error) {
		if seen++; seen == 1 { // the log is read, and then nothing beside it
			return true, fmt.Errorf("read the heartbeats: %w", store.ErrUnavailable)
		}
		return true, nil
	})
	if err != nil || seen != 2 || strings.Count(errs.String(), "answers again") != 2 {
		t.Errorf("after %d looks it ended with %v, and had said %q", seen, err, errs.String())
	}
}

// onLine does something after each line that is written.
type onLine struct {
	*output.Text
	then func()
}

func (l *onLine) Write(p []byte) (int, error) {
	n, err := l.Text.Write(p)
	l.then()
	return n, err
}

// A flow is drawn when it has changed, at most once a second but for its end, with the rates since the last picture.
func TestFlowIsDrawn(t *testing.T) {
	t.Parallel()
	flow := func(in, pending uint64) *view.Flow {
		return &view.Flow{Unit: view.UnitSegments, Tasks: []view.FlowTask{
			{Task: "read", Out: in + pending, State: view.FlowComplete},
			{Task: "count", From: []string{"read"}, Slots: 3, In: in, Pending: pending, State: view.FlowDraining},
		}}
	}
	var v flowView
	at := time.Unix(1_800_000_000, 0)
	draw := func(f *view.Flow, after time.Duration, ended bool) string {
		t.Helper()
		var b strings.Builder
		must.Succeed(t, v.draw(&b, f, at.Add(after), ended))
		return b.String()
	}
	if none := bar(0, 0); none != "sealed, nothing waits" {
		t.Errorf("nothing has come, and it says %q", none)
	}
	first := draw(flow(0, 100), 0, false)
	if !containsAll(first, []string{"FLOW", "SLOTS", "RATE", "count  read  3", "░░░░ 0 %"}) ||
		strings.Contains(first, "/s") {
		t.Errorf("the first picture is\n%s", first)
	}
	if again := draw(flow(10, 90), 500*time.Millisecond, false); again != "" {
		t.Errorf("half a second later it is drawn again:\n%s", again)
	}
	if second := draw(flow(50, 50), 2*time.Second, false); !containsAll(second,
		[]string{"25/s", "██████████░░░░░░░░░░ 50 %"}) {
		t.Errorf("the second picture is\n%s", second)
	}
	if same := draw(flow(50, 50), 9*time.Second, false); same != "" {
		t.Errorf("nothing has changed, and it is drawn:\n%s", same)
	}
	if last := draw(flow(100, 0), 9100*time.Millisecond, true); !containsAll(last, []string{"100 %", "7/s"}) {
		t.Errorf("the last picture is\n%s", last)
	}
}

// TestAFlowThatGoesOnIsTold: with -o json a job is printed again when only the numbers of its flow have changed.
func TestAFlowThatGoesOnIsTold(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o, f := &observer{env: env{stdout: &out}, json: true}, &follower{job: "etl", json: true}
	for _, in := range []uint64{1, 1, 2} {
		must.Succeed(t, f.tell(o,
			&view.Job{Job: "etl", Flow: &view.Flow{Tasks: []view.FlowTask{{Task: "count", In: in}}}}))
	}
	if n := strings.Count(out.String(), `"job":"etl"`); n != 2 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}
