package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// TestADurationIsInAllBucketsAboveIt, that of its own bound included.
func TestADurationIsInAllBucketsAboveIt(t *testing.T) {
	t.Parallel()
	var h Histogram
	for _, d := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, 10 * time.Minute, time.Hour} {
		h.Add(d)
	}
	want := Histogram{Count: 5, Sum: 70*time.Minute + 2*time.Millisecond + 1,
		Upto: [14]int64{2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4}}
	if h != want {
		t.Errorf("got %+v, want %+v", h, want)
	}
}

// TestQuantilesAtTheirBounds: half of the rounds were no later than the median, and 99 of 100 no later than the other.
func TestQuantilesAtTheirBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		early, late int
		p50, p99    int64
	}{{50, 50, 1, 5}, {51, 49, 1, 5}, {49, 51, 5, 5}, {99, 1, 1, 1}, {98, 2, 1, 5}, {1, 0, 1, 1}, {0, 1, 5, 5}} {
		var h histogram
		for range c.early {
			h.add(time.Microsecond)
		}
		for range c.late {
			h.add(5 * time.Microsecond)
		}
		if l := h.quantiles(); l.P50US != c.p50 || l.P99US != c.p99 || l.Rounds != int64(c.early+c.late) {
			t.Errorf("%d early, %d late: %+v, want %d and %d", c.early, c.late, l, c.p50, c.p99)
		}
	}
	var h histogram
	h.add(100 * time.Microsecond) // which is not the end of its bucket
	if l := h.quantiles(); l.P50US != 100 || l.P99US != 100 || l.MaxUS != 100 {
		t.Errorf("one round: %+v, want 100 µs in all", l)
	}
}

// TestDeadlinesEndInOrder: the first to end, and of those that end at once the one that was set first.
func TestDeadlinesEndInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b deadline
		want bool
	}{
		{deadline{at: 1, seq: 9}, deadline{at: 2, seq: 1}, true},
		{deadline{at: 2, seq: 1}, deadline{at: 1, seq: 9}, false},
		{deadline{at: 1, seq: 1}, deadline{at: 1, seq: 2}, true},
		{deadline{at: 1, seq: 2}, deadline{at: 1, seq: 1}, false},
		{deadline{at: 1, seq: 1}, deadline{at: 1, seq: 1}, false},
	} {
		if got := (timerHeap{c.a, c.b}).Less(0, 1); got != c.want {
			t.Errorf("%v before %v: %v", c.a, c.b, got)
		}
	}
	s := State{now: protocol.Instant(time.Hour)}
	s.setTimer(&part{}, -time.Second)
	if s.timers[0].at != s.now {
		t.Errorf("a deadline of the past is at %v", s.timers[0].at)
	}
}

func TestCountsOfPhases(t *testing.T) {
	t.Parallel()
	var c Counts
	for i, p := range []phase{phaseIdle, phaseBackoff, phaseQueued, phaseRunning, phaseStopping, phaseFinished,
		phaseFailed} {
		for range i + 1 {
			c.add(p)
		}
		if r := (RunStatus{State: p.String()}); r.Retries() != (p == phaseBackoff || p == phaseFailed) {
			t.Errorf("%s: retries %t", p, r.Retries())
		}
	}
	if want := (Counts{Waiting: 1, BackingOff: 2, Queued: 3, Running: 4, Stopping: 5, Finished: 6,
		Failed: 7}); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

// TestPeriodsAroundTheirBeginning: the next round is after the time that is asked for, before the beginning too.
func TestPeriodsAroundTheirBeginning(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	p := everyPeriod{from, 10 * time.Second}
	for at, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, time.Second: 10 * time.Second, 10 * time.Second: 20 * time.Second,
		-time.Second: 0, -10 * time.Second: 0, -11 * time.Second: -10 * time.Second,
	} {
		if got := p.Next(from.Add(at)).Sub(from); got != want {
			t.Errorf("after %v comes %v, want %v", at, got, want)
		}
	}
}

// TestPositionKeys: each partition has a key of its own, which every store takes.
func TestPositionKeys(t *testing.T) {
	t.Parallel()
	long, seen := strings.Repeat("k/", 400), make(map[string]cluster.PartitionID)
	for id, want := range map[cluster.PartitionID]string{
		"azAZ09._-": "position/azAZ09._-", "`{@[/:": "position/=60=7B=40=5B=2F=3A",
		cluster.PartitionID(strings.Repeat("a", 200)): "position/" + strings.Repeat("a", 200),
		"j": "", "j/t": "", "j#t": "", "j/t#k": "", "j#t/k": "", "j#=74": "", "j#ключ": "", "j# ": "",
		cluster.PartitionID(strings.Repeat("a", 201)): "",
		cluster.PartitionID("j#" + long + "a"):        "", cluster.PartitionID("j#" + long + "b"): "",
		cluster.PartitionID("j#" + strings.Repeat("=", 150)): "",
	} { // order-free: each by itself
		got := positionKey(id)
		if want != "" && got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
		rest, ok := strings.CutPrefix(got, "position/")
		if !ok || rest == "" || len(got) > 220 ||
			strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=@-") != "" {
			t.Errorf("key %q", got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the key %s", id, other, got)
		}
		seen[got] = id
	}
	if got := positionKey(cluster.PartitionID(strings.Repeat("a", 201))); len(got) != len("position/@")+64 {
		t.Errorf("a long name is in %s", got)
	}
}

func TestKeepsOnStoreLoss(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{`{"on_store_loss":"keep"}`: true, `{"on_store_loss":"stop"}`: false,
		`{}`: false, `{"on_store_loss":7}`: false} {
		if got := KeepsOnStoreLoss(&cluster.TaskSpec{Definition: []byte(in)}); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// TestOthersHearOfAChange: who waits on another member hears of a change within some pauses, also where two notify at
// once; a change that could not be noted is noted later.
func TestOthersHearOfAChange(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := memory.New()
		a, b := newFlowSignal(server.Open(), slog.New(slog.DiscardHandler)),
			newFlowSignal(server.Open(), slog.New(slog.DiscardHandler))
		away := &awayDocs{Docs: server.Open()}
		away.away.Store(true)
		c := newFlowSignal(away, slog.New(slog.DiscardHandler))
		for _, signal := range []*flowSignal{a, b, c} {
			defer signal.start(t.Context())()
		}
		f, hushF := a.subscribe("f")
		defer hushF()
		_, hush := a.subscribe("f")
		hush() // another one, who has what it waited for
		g, hushG := a.subscribe("g")
		defer hushG()
		time.Sleep(2 * signalPause) // a has read what there is
		b.notify("f")
		c.notify("g")
		time.Sleep(10 * signalPause)
		if !closed(f) || closed(g) {
			t.Errorf("f has changed: %v; g, which could not be noted: %v", closed(f), closed(g))
		}
		away.away.Store(false)
		time.Sleep(10 * signalPause)
		if !closed(g) {
			t.Error("a change was lost with the store")
		}
	})
}

// TestWhatAHostHas: what a run may ask of its member says what is missing there; with all of it, it gets its flow.
func TestWhatAHostHas(t *testing.T) {
	t.Parallel()
	var v cluster.Value
	for i, c := range []cluster.Command{
		cluster.PrepareJoin{Member: "m", Heartbeat: "p", Slots: 8},
		cluster.SubmitJob{Job: "alone", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "t"}}}},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{
			{Name: "a", Type: "t", Spread: cluster.SpreadPool, Definition: []byte(`{"parts":2}`)},
			{Name: "c", Type: "t", Spread: cluster.SpreadPool, Definition: []byte(`{}`)},
			{Name: "b", Type: "t", Spread: cluster.SpreadPool,
				Definition: []byte(`{"from":[{"task":"a","shards":3,"by":"k"}],"keyed":true}`)},
		}}},
	} {
		var did cluster.Applied
		at := cluster.Index(i + 1)
		v, did = v.Apply(cluster.Entry{Index: at, Writer: "w", Seq: uint64(at), AtMS: 7000, Commands: []cluster.Command{c}})
		if !did.Results[0].Accepted {
			t.Fatal(did.Results[0].Reason)
		}
	}
	docs := memory.New().Open()
	defer docs.Close()
	value := func() cluster.Value { return v }
	silent := func(context.Context, ...cluster.Command) ([]cluster.Result, error) { return nil, nil }
	g := &work.Grant{Job: "j", Task: "b", Partition: "j/b"}
	flow := func(r *run) error { return must.Err(r.Flow(t.Context(), g)) }
	split := func(r *run) error { return r.Split(t.Context(), g, nil) }
	advance := func(r *run) error { return must.Err(r.Advance(t.Context(), g, work.Window{}, cluster.AdvanceWindow{})) }
	for want, c := range map[string]struct {
		conf Config
		do   func(*run) error
	}{
		"this member does not show the value":             {Config{}, flow},
		"the store has no queues":                         {Config{Value: value}, flow},
		"job j is not known any more":                     {Config{Value: func() (none cluster.Value) { return }, Queue: docs}, flow},
		"note the flow of job j: this member has no doc":  {Config{Value: value, Queue: docs}, flow},
		"split j/b (token 0): this member has no way":     {Config{}, split},
		"split j/b (token 0): the protocol gave no res":   {Config{Propose: silent}, split},
		"advance j/b (token 0): this member has no way":   {Config{}, advance},
		"advance j/b (token 0): the protocol gave no res": {Config{Propose: silent}, advance},
		errNoPositions.Error(): {Config{}, func(r *run) error {
			return must.Err(r.LoadPositions(t.Context(), nil))
		}},
		"save position of j/b (token 0): " + errNoPositions.Error(): {Config{}, func(r *run) error { return r.SavePosition(t.Context(), g, nil) }},
		"load position of j/b (token 0): " + errNoPositions.Error(): {Config{}, func(r *run) error {
			return must.Err(r.LoadPosition(t.Context(), g))
		}},
	} {
		if err := c.do(&run{s: &Supervisor{conf: c.conf}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s := &Supervisor{conf: Config{Value: value, Queue: docs, Positions: docs}}
	s.signal = newFlowSignal(docs, slog.New(slog.DiscardHandler))
	r := &run{s: s, granted: granted{id: "alone"}}
	for range 2 { // it is noted already
		must.Succeed(t, flow(r))
	}
	f := must.Get(r.Flow(t.Context(), g))(t)
	changed, hush := f.Subscribe()
	defer hush()
	if f.Notify(); !closed(changed) {
		t.Error("who waits here does not hear at once")
	}
	got := fmt.Sprint(f.Name, f.Graph, f.Takers("b"), f.Takers("none"))
	if want := "j@3{[{a 2 false} {b 1 true}] [{a b 3 k}]} 2 0"; got != want {
		t.Errorf("the flow is %s, want %s", got, want)
	}
	if at := r.acceptedAt().UnixMilli(); at != 7000 {
		t.Errorf("accepted at %d", at)
	}
	if r.Emit(make([]publish.Sample, 2)...); s.unsent.Load() != 2 {
		t.Errorf("%d samples have no publisher", s.unsent.Load())
	}
	for _, spec := range []*cluster.JobSpec{nil, {Tasks: []cluster.TaskSpec{{Name: "a", Definition: []byte("{")}}}} {
		if g, err := GraphOf(&cluster.Job{Spec: spec}); (err != nil) != (spec != nil) || len(g.Tasks) > 0 {
			t.Errorf("the graph is %v, %v", g, err)
		}
	}
}

// TestAFlowIsNotifiedAmongOthers: a note that lost against another one is tried again, signalTries times in all.
func TestAFlowIsNotifiedAmongOthers(t *testing.T) {
	t.Parallel()
	for lost, want := range map[int64]error{0: nil, signalTries - 1: nil, signalTries: store.ErrConflict} {
		docs := &awayDocs{Docs: memory.New().Open()}
		docs.lost.Store(lost)
		if err := NotifyFlow(t.Context(), docs, "f"); !errors.Is(err, want) {
			t.Errorf("%d lost: %v", lost, err)
		}
		if d, err := docs.Get(t.Context(), signalKey); want == nil && (err != nil || !readNote(d.Value).since(0, "f")) {
			t.Errorf("the note is %s, %v", d.Value, err)
		}
	}
}

// awayDocs is a store that takes no writes while it is away, and refuses the next lost ones: others wrote first.
type awayDocs struct {
	store.Docs
	away atomic.Bool
	lost atomic.Int64
}

func (a *awayDocs) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if a.away.Load() {
		return "", store.ErrUnavailable
	}
	if a.lost.Add(-1) >= 0 {
		return "", store.ErrConflict
	}
	return a.Docs.Put(ctx, d)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
