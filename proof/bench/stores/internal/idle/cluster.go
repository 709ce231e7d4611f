package idle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// crowd is members in one process.
type crowd struct {
	place    *place.Place
	ttl      time.Duration
	protocol protocol.Protocol
	calls    atomic.Uint64 // of handles, where there is no server that counts
	running  atomic.Int64  // partitions
	lost     atomic.Int64  // members that found themselves removed, or whose store did not answer
	nodes    []*node.Node
	stores   []store.Full
	ended    chan error
	all      sync.WaitGroup
	stop     context.CancelFunc
	hurry    chan struct{}
}

// gather starts members one after the other, each when the one before has joined.
func gather(ctx context.Context, p *place.Place, o Options) (*crowd, error) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &crowd{place: p, ttl: o.TTL, protocol: o.Protocol, ended: make(chan error, o.Members), stop: stop,
		hurry: make(chan struct{})}
	for i := range o.Members {
		if err := c.join(ctx, run, fmt.Sprintf("m%03d", i)); err != nil {
			return nil, errors.Join(fmt.Errorf("member %d: %w", i, err), c.close())
		}
	}
	return c, nil
}

func (c *crowd) join(ctx, run context.Context, name string) error {
	st, err := c.place.Open(ctx, "idle")
	if err != nil {
		return err
	}
	c.stores = append(c.stores, st)
	if _, ok, err := c.place.Requests(ctx); err != nil {
		return err
	} else if !ok {
		if st, err = count(st, &c.calls); err != nil {
			return err
		}
	}
	joined := make(chan struct{}, 1)
	n, err := node.New(node.Config{
		Member: cluster.MemberID(name), Store: st, Protocol: c.protocol, TTL: c.ttl,
		Types: work.Types{"hold": c.hold()}, DrainTimeout: time.Millisecond,
		Events: node.Events{
			Joined: func(cluster.Incarnation, time.Duration) {
				select {
				case joined <- struct{}{}:
				default:
				}
			},
			Removed: func(string) { c.lost.Add(1) },
		},
	})
	if err != nil {
		return err
	}
	c.nodes = append(c.nodes, n)
	c.all.Go(func() { c.ended <- n.Run(run, c.hurry) })
	select {
	case <-joined:
		return nil
	case err := <-c.ended:
		return fmt.Errorf("it ended: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("wait for it to join: %w", context.Cause(ctx))
	}
}

// hold is a task type that does nothing until it must stop.
func (c *crowd) hold() work.Type {
	return work.Type{Name: "hold", New: func(work.Definition) (work.Runner, error) {
		return work.RunnerFunc(func(ctx context.Context, _ *work.Grant) error {
			c.running.Add(1)
			defer c.running.Add(-1)
			<-ctx.Done()
			return context.Cause(ctx)
		}), nil
	}}
}

// most is how many partitions one job is submitted with: an entry must fit into a message of any store.
const most = 20_000

// submit gives the cluster partitions and waits until they run.
func (c *crowd) submit(ctx context.Context, partitions int) error {
	for from := 0; from < partitions; from += most {
		t := cluster.TaskSpec{Type: "hold", Spread: cluster.SpreadPartitioned}
		for i := from; i < min(from+most, partitions); i++ {
			t.Partitions = append(t.Partitions, strconv.Itoa(i))
		}
		job := cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("hold-%d", from/most)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{t}}}
		res, err := c.nodes[0].Propose(ctx, job)
		if err != nil {
			return err
		}
		if !res[0].Accepted {
			return fmt.Errorf("submit job %s: refused: %s", job.Job, res[0].Reason)
		}
	}
	return c.await(ctx, func() bool { return c.running.Load() == int64(partitions) && c.caughtUp() })
}

// caughtUp tells whether all members have applied the same.
func (c *crowd) caughtUp() bool {
	first := c.nodes[0].Value()
	for _, n := range c.nodes {
		if v := n.Value(); v.Index() != first.Index() || v.InHandover() > 0 {
			return false
		}
	}
	return true
}

// await looks again and again until a condition holds.
func (c *crowd) await(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case err := <-c.ended:
			return fmt.Errorf("a member ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("%d partitions run: %w", c.running.Load(), context.Cause(ctx))
		}
	}
	return nil
}

// requests is how many there were so far.
func (c *crowd) requests(ctx context.Context) (uint64, error) {
	if n, ok, err := c.place.Requests(ctx); ok {
		return n, err
	}
	return c.calls.Load(), nil
}

// close ends all members at once, without an orderly leave of each.
func (c *crowd) close() error {
	close(c.hurry)
	c.stop()
	c.all.Wait()
	var err error
	for _, s := range c.stores {
		err = errors.Join(err, s.Close())
	}
	return err
}

// whole is a store with all abilities that a member uses.
type whole interface {
	store.Full
	store.GetMany
	store.Watcher
	store.LogWatcher
	store.Sessions
}

// errPoor says that a store lacks an ability, so that its calls cannot be counted without changing what is measured.
var errPoor = errors.New("the store has no reads of many documents, no watches or no sessions")

// count counts the calls of a handle that a member waits for.
func count(s store.Full, calls *atomic.Uint64) (store.Full, error) {
	w, ok := s.(whole)
	if !ok {
		return nil, errPoor
	}
	return faults.NewFaulty(w, func(c faults.Call) faults.Outcome {
		if c.Op != "watch" && c.Op != "watchlog" && c.Op != "sessionclose" {
			calls.Add(1)
		}
		return faults.Pass
	}), nil
}
