package call_test

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// crowd is a cluster without a protocol: its members hold the same value, and may act without end.
type crowd struct {
	t      *testing.T
	server *memory.Server
	mu     sync.Mutex
	value  cluster.Value
	clock  func() protocol.Instant // of members that join
	until  protocol.Instant        // the end of their leases
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, server: memory.New(), clock: protocol.NewProcessClock(), until: math.MaxInt64}
}

// Open returns one more handle on the store.
func (c *crowd) Open() *memory.Store { return c.server.Open() }

// Value is the newest one.
func (c *crowd) Value() cluster.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

func (c *crowd) apply(command cluster.Command) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, _ = c.value.Apply(values.Entry(c.value, 0, command))
}

// join adds a member that runs calls until the test ends.
func (c *crowd) join(s store.Docs, name cluster.MemberID, slots int64, functions ...call.Function) {
	c.t.Helper()
	first, others := c.Value().FirstJoined()
	c.apply(cluster.PrepareJoin{Member: name, Slots: slots, Weight: 100, Heartbeat: "pulse/" + string(name)})
	me, _ := c.Value().Member(name)
	if by, _ := c.Value().Member(first); others {
		c.apply(cluster.AcceptJoin{Member: name, Incarnation: me.Incarnation, By: first, ByIncarnation: by.Incarnation})
	}
	if me, _ = c.Value().Member(name); me.State != cluster.MemberJoined {
		c.t.Fatalf("member %s is %v", name, me)
	}
	w, err := call.NewWorker(call.RunnerConfig{
		Member: name, Docs: s, Functions: functions, Slots: func() int64 { return slots }, Value: c.Value,
		Grace: time.Second, Clock: c.clock,
		Tenure: func() (cluster.Incarnation, protocol.Instant) { return me.Incarnation, c.until },
	})
	must.Succeed(c.t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx, nil)
	}()
	c.t.Cleanup(func() { stop(); <-ended })
}

// client is a client whose clock reads the time of the bubble.
func client(t *testing.T, s store.Docs, queue string) *call.Client {
	t.Helper()
	c := must.Get(call.NewClient(s, call.ClientOptions{Queue: queue, Clock: protocol.NewProcessClock()}))(t)
	t.Cleanup(c.Close)
	return c
}

// lab is one member that has functions, and a client.
func lab(t *testing.T, slots int64, functions ...call.Function) (*crowd, *call.Client) {
	t.Helper()
	c := newCrowd(t)
	c.join(c.Open(), "a", slots, functions...)
	return c, client(t, c.Open(), "c")
}

func submit[A, R any](t *testing.T, f call.Func[A, R], to call.Target, arg A) *call.Call[R] {
	t.Helper()
	c := must.Get(f.Submit(t.Context(), to, arg))(t)
	return c
}

// patience bounds what only a failure waits for; in virtual time.
const patience = 60 * time.Second

// await looks again and again until something is so.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) { // waits: in virtual time
		if time.Since(begin) > patience {
			t.Fatalf("waited %s and it is not so: %s", patience, what)
		}
	}
}

// wait is Wait with patience.
func wait[R any](t *testing.T, c *call.Call[R]) (R, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatalf("call %s does not end", c.ID())
	}
	return r, err
}

// receive takes from a channel with patience.
func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %s in vain: %s", patience, what)
		panic("unreachable")
	}
}

// stateOf is the state in the document of a call; "" if there is none.
func stateOf(t *testing.T, s store.Docs, id string) string {
	t.Helper()
	d, err := s.Get(t.Context(), "call/"+id)
	if err != nil {
		return ""
	}
	var r call.Record
	must.Succeed(t, json.Unmarshal(d.Value, &r))
	return string(r.State)
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
