package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// valueOf is the value after commands, all of which are accepted.
func valueOf(t *testing.T, commands ...cluster.Command) cluster.Value {
	t.Helper()
	return values.After(t, cluster.Value{}, commands...)
}

// told notes what a node tells its protocol of the member.
type told struct {
	protocol.Protocol
	got *protocol.Config
}

func (p told) New(c protocol.Config) (protocol.Member, error) { *p.got = c; return p.Protocol.New(c) }

// TestWhatANodeTells: the member is what the config says, and the config stays as it is. A place that is another
// cluster's, or damaged, ends the node.
func TestWhatANodeTells(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New().Open()
		var got protocol.Config
		c := Config{Member: "m", Store: s, Protocol: told{replica.Protocol{}, &got}, Weight: 1, Capacity: 2, Slots: 3,
			Address: "here", Version: "v", NoSessions: true, Labels: map[string]string{"b": "1", "a": "2"},
			Functions: []call.Function{call.NewFunc("f", func(context.Context, int) (int, error) { return 0, nil })},
			Clock:     protocol.NewProcessClock()}
		c.Broker = store.Broker{Queue: memory.New().Open(), Place: "there"}
		n := must.Get(New(c))(t)
		if got.Restart || got.Hold != 0 || got.Whole || got.TTL != longTTL || got.Weight != 1 || got.Capacity != 2 ||
			got.Slots != 3 || got.Address != "here" || got.Version != "v" ||
			!got.NoSessions || len(c.Labels) != 2 || len(got.Labels) != 3 || got.Labels[0].Key != "a" ||
			!slices.IsSortedFunc(got.Labels, func(a, b cluster.Label) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("the member is %+v, and the labels are %v", got, c.Labels)
		}
		if c.Hold = time.Nanosecond; must.Err(New(c)) != nil || !got.Restart || got.Hold != c.Hold {
			t.Errorf("a leave is no announced restart: %+v", got)
		}
		c.Hold = 0
		if n.c.DrainTimeout != 10*time.Second || n.Status().Sinks == nil || n.Queue() != c.Broker.Queue {
			t.Errorf("a drain may take %s; the sinks are %v, the queue is %v", n.c.DrainTimeout, n.Status().Sinks, n.Queue())
		}
		var queue *protocol.OtherQueueError
		for place, fits := range map[string]func(error) bool{ // order-free: each is written over
			"{":                                      func(err error) bool { return errors.Is(err, protocol.ErrPlaceDamaged) },
			`{"protocol":"replica","queue":"other"}`: func(err error) bool { return errors.As(err, &queue) },
		} {
			old, _ := s.Get(t.Context(), protocol.PlaceKey)
			d := store.Doc{Key: protocol.PlaceKey, Value: []byte(place), Version: old.Version}
			must.Succeed(t, must.Err(s.Put(t.Context(), d)))
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			if err := must.Get(New(c))(t).Run(ctx, nil); !fits(err) || ctx.Err() != nil {
				t.Errorf("at %s: %v", place, err)
			}
			stop()
		}
	})
}

// What another member may run delays a leave; what is on each member does not.
func TestWhatCanMove(t *testing.T) {
	t.Parallel()
	job := func(id cluster.JobID, spec cluster.TaskSpec) cluster.Command {
		spec.Type = "noop"
		return cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}}}
	}
	v := valueOf(t, job("any", cluster.TaskSpec{}), job("every", cluster.TaskSpec{Spread: cluster.SpreadEvery}),
		job("gpu", cluster.TaskSpec{Selector: []cluster.Label{{Key: "gpu", Value: "yes"}}}))
	plain, gpu := cluster.Member{ID: "b"}, cluster.Member{ID: "c", Labels: []cluster.Label{{Key: "gpu", Value: "yes"}}}
	for _, c := range []struct {
		id     cluster.PartitionID
		takers []cluster.Member
		want   bool
	}{
		{"any", []cluster.Member{plain}, true}, {"any", nil, false}, {"every#a", []cluster.Member{plain}, false},
		{"gone", []cluster.Member{plain}, false},
		{"gpu", []cluster.Member{plain}, false}, {"gpu", []cluster.Member{plain, gpu}, true},
	} {
		if got := movable(v, c.id, c.takers); got != c.want {
			t.Errorf("%s to %d members: %t", c.id, len(c.takers), got)
		}
	}
}

// A member that cannot read whether it is drained asks again, until it knows; then it asks no more.
func TestADrainIsAskedForUntilItIsKnown(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		docs := s.Open()
		defer docs.Close()
		must.Succeed(t, must.Err(KeepDrained(t.Context(), docs, "a", true, "ann")))
		var reads atomic.Int64
		inner := s.Open()
		t.Cleanup(func() { inner.Close() })
		f := faults.NewFaulty(inner, func(c faults.Call) faults.Outcome {
			if strings.HasPrefix(c.Key, drainPrefix) && reads.Add(1) <= 2 {
				return faults.Refused
			}
			return faults.Pass
		})
		a := start(t, s, "a", func(c *Config) { c.Store = f })
		await(t, "it is drained", func() bool { m, _ := a.Value().Member("a"); return m.Draining })
		time.Sleep(time.Minute) // waits: in virtual time
		if n := reads.Load(); n != 3 {
			t.Errorf("it read its document %d times, want 3", n)
		}
	})
}

// A member keeps its config's defaults where the store is away: it needs neither a clock nor a logger.
func TestKeptWithoutAClock(t *testing.T) {
	t.Parallel()
	path, r := filepath.Join(t.TempDir(), "a.json"), &running{}
	spec := cluster.TaskSpec{Name: "t", Type: "noted", Definition: []byte(`{"on_store_loss":"keep"}`)}
	must.Succeed(t, openKept(t, path, "a").write(protocol.Assignment{Version: 1,
		Grants: []*protocol.Grant{{Partition: "j/t", Token: 7, Spec: &spec}}}))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		k := openKept(t, path, "a")
		go func() { done <- k.Run(ctx, Config{Member: "a", Types: r.types()}) }()
		synctest.Wait()
		if r.token("j/t") != 7 {
			t.Error("it does not run")
		}
		for _, c := range []Config{{WitnessPath: filepath.Join(path, "no")}, {Types: work.Types{"x": {Name: "x"}}}} {
			if c.Member = "a"; openKept(t, path, "a").Run(ctx, c) == nil {
				t.Errorf("it runs with %+v", c)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// light is a member with an excerpt of the value, and its protocol, which observes what the test says.
type light struct {
	protocol.Member
	protocol.Protocol
	excerpt, whole cluster.Value
	err            error
	from           cluster.Value // what was given to go on from
}

func (l *light) Status() protocol.Status { return protocol.Status{Light: true} }
func (l *light) Value() cluster.Value    { return l.excerpt }
func (l *light) Observe(_ context.Context, _ protocol.Store, v cluster.Value) (cluster.Value, error) {
	l.from = v
	return l.whole, l.err
}

// The whole value is that of the store, else the one that was seen last, for a minute; else the excerpt.
func TestTheWholeValue(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := &light{excerpt: valueOf(t, cluster.PrepareJoin{Member: "a", Heartbeat: "p"}), err: store.ErrUnavailable}
		var log bytes.Buffer
		n := &Node{c: Config{Protocol: l, Logger: slog.New(slog.NewTextHandler(&log, nil))}, member: l}
		step := func(want cluster.Index, wantFrom cluster.Index, what string) {
			t.Helper()
			if got := n.Whole().Index(); got != want || l.from.Index() != wantFrom {
				t.Errorf("%s: index %d from %d, want %d from %d", what, got, l.from.Index(), want, wantFrom)
			}
		}
		step(1, 0, "never observed")
		l.whole, l.err = valueOf(t, cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
			cluster.DrainMember{Member: "a", On: true}), nil
		logged := log.Len()
		step(2, 0, "observed")
		if logged == 0 || log.Len() != logged {
			t.Errorf("an observation that failed is logged, no other: %s", log.String())
		}
		whole := l.whole
		l.whole, l.err = cluster.Value{}, store.ErrUnavailable
		time.Sleep(observedFor - 1) // waits: in virtual time
		step(2, 2, "the store is away")
		time.Sleep(observedFor - 1) // waits: in virtual time
		step(2, 2, "still away, and asked in time")
		time.Sleep(observedFor) // waits: in virtual time
		synctest.Wait()
		step(1, 0, "forgotten")
		l.whole, l.err = whole, nil
		step(2, 0, "back")
		n.whole.forget.Stop()
	})
}

// A store that hangs holds up each caller for one time-out at most, however many there are, and they share what is
// asked of it.
func TestManyLookAtTheWholeValue(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := &hanging{light: light{excerpt: valueOf(t, cluster.PrepareJoin{Member: "a", Heartbeat: "p"})},
			hangs: make(chan struct{})}
		n := &Node{c: Config{Protocol: l, Logger: slog.New(slog.DiscardHandler)}, member: l}
		began := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if n.Whole().Index() != 1 || time.Since(began) > observeTimeout {
					t.Errorf("index %d after %v", n.Whole().Index(), time.Since(began))
				}
			})
		}
		all.Wait()
		if asked := l.asked.Load(); asked > 2 {
			t.Errorf("50 callers asked the store %d times", asked)
		}
		l.whole = valueOf(t, cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
			cluster.DrainMember{Member: "a", On: true})
		close(l.hangs)
		if n.Whole().Index() != 2 {
			t.Error("the store answers again, and what it says is not shown")
		}
		l.hangs = make(chan struct{})
		last, began := n.observation(), time.Now()
		ended, end := context.WithCancel(t.Context())
		end()
		n.wakeLookers(ended)
		if <-last.done; time.Since(began) > 0 {
			t.Errorf("the end waits for the store, for %v", time.Since(began))
		}
	})
}

// hanging is a light member whose store does not answer until hangs is closed.
type hanging struct {
	light
	hangs chan struct{}
	asked atomic.Int64
}

func (h *hanging) Observe(ctx context.Context, _ protocol.Store, v cluster.Value) (cluster.Value, error) {
	h.asked.Add(1)
	select {
	case <-h.hangs:
		return h.whole, nil
	case <-ctx.Done():
		return cluster.Value{}, context.Cause(ctx)
	}
}
