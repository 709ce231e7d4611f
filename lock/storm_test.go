package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// Clients work for so long, in virtual time, and do at least so much.
const (
	storms    = 12
	stormTime = 10 * time.Second
	stormTTL  = 300 * time.Millisecond
	leastOps  = 60
)

// storm is a run of clients whose calls fail at random.
type storm struct {
	t      *testing.T
	seed   uint64
	server *memory.Server
	began  time.Time
	order  atomic.Int64 // of the instants of the history: many things happen at one instant of virtual time
	mu     sync.Mutex
	ops    []porcupine.Operation
	lost   int
	given  int // acquires that were given up
}

// step is what a history consists of: somebody got the lock, under a token; or it ended, between the last instant at
// which he still held it and the first at which he knew that he did not.
type step struct {
	end   bool
	token cluster.Token
}

// turn is the lock as it should be: free or held, and the largest token so far.
type turn struct {
	held bool
	last cluster.Token
}

func turnsModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return turn{} },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(turn), input.(step)
			if in.end {
				return s.held && s.last == in.token, turn{last: s.last}
			}
			return !s.held && in.token > s.last, turn{true, in.token}
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	}
}

// now is an instant of the history. Each is later than all that were read before.
func (s *storm) now() int64 { return s.order.Add(1) }

func (s *storm) record(client int, in step, call, back int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops = append(s.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Return: back})
}

// blows reports whether the storm is not over.
func (s *storm) blows() bool { return time.Since(s.began) < stormTime }

// plan lets one call in eight fail, in all ways.
func plan(r *rand.Rand) faults.Plan {
	outcomes := []faults.Outcome{faults.Refused, faults.LostRequest, faults.LostReply, faults.Late, faults.Held}
	breathless := r.IntN(3) == 0 // its heartbeat hardly ever gets through, and is lost
	return func(c faults.Call) faults.Outcome {
		lost := breathless && c.N > 12 && strings.HasPrefix(c.Key, "lock-pulse/") && c.Op != "get"
		if r.IntN(8) > 0 && !lost {
			return faults.Pass
		}
		return outcomes[r.IntN(len(outcomes))]
	}
}

// client takes the lock again and again until the storm is over. Now and then it dies, and another one begins.
func (s *storm) client(number int) {
	r := rand.New(rand.NewPCG(s.seed, uint64(number)))
	for s.blows() {
		faulty := faults.NewFaulty(s.server.Open(), plan(rand.New(rand.NewPCG(r.Uint64(), 1))))
		over := make(chan struct{})
		go s.release(faulty, over)
		c, err := lock.NewClient(faulty,
			lock.Options{TTL: stormTTL, NoSessions: number%2 == 0, Clock: protocol.NewProcessClock()})
		if err != nil {
			s.t.Error(err)
			return
		}
		for n := r.IntN(12); n >= 0 && s.blows(); n-- {
			s.once(number, c, r)
		}
		if r.IntN(2) == 0 {
			faulty.Close() // like kill -9
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = c.Close(ctx) // others find out by the heartbeat where it did not get through
		cancel()
		close(over)
		faulty.Release()
		faulty.Close()
	}
}

// release lets go of what is late, now and then.
func (s *storm) release(faulty *faults.Faulty, over chan struct{}) {
	r := rand.New(rand.NewPCG(s.seed, 99))
	for {
		select {
		case <-time.After(time.Duration(r.IntN(60)) * time.Millisecond):
			faulty.Release()
		case <-over:
			return
		}
	}
}

// once acquires, holds, and lets go.
func (s *storm) once(number int, c *lock.Client, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(400))*time.Millisecond)
	defer cancel()
	called := s.now()
	acquire := c.Lock("x").Acquire
	if r.IntN(4) == 0 {
		acquire = c.Lock("x").TryAcquire
	}
	h, err := acquire(ctx)
	if err != nil {
		s.mu.Lock()
		s.given++
		s.mu.Unlock()
		return
	}
	s.record(number, step{token: h.Token()}, called, s.now())
	last := called // it may be lost again before it is told of
	for n := r.IntN(10 + 190*(1-min(r.IntN(4), 1))); n > 0; n-- {
		at := s.now()
		if h.Err() != nil {
			break
		}
		last = at
		time.Sleep(time.Duration(r.IntN(4)) * time.Millisecond) // waits: it holds the lock
	}
	at := s.now()
	if err := h.Err(); err == nil {
		last = at
	} else if errors.Is(err, lock.ErrLost) {
		s.mu.Lock()
		s.lost++
		s.mu.Unlock()
	}
	bounded, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	_ = h.Release(bounded) // in the background where that is not enough
	s.record(number, step{end: true, token: h.Token()}, last, s.now())
}

// TestStorm: whatever the calls do, the story of the clients is that of a lock; and when the storm is over, it can be
// had, and nothing is left. The seed decides which calls fail and how long each client waits; which of two goroutines
// that are ready runs first is decided by the scheduler.
func TestStorm(t *testing.T) { virtual.Seeds(t, storms, storming) }

func storming(t *testing.T, seed uint64) {
	t.Helper()
	s := &storm{t: t, seed: seed, server: memory.New(), began: time.Now()}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() { s.client(n) })
	}
	all.Wait()
	t.Logf("%d operations, %d given up, %d lost", len(s.ops), s.given, s.lost)
	if len(s.ops) < leastOps {
		t.Errorf("%d operations: nothing was shown", len(s.ops))
	}
	if result := porcupine.CheckOperationsTimeout(turnsModel(), s.ops, 0); result != porcupine.Ok {
		for _, op := range s.ops {
			t.Logf("%d–%d client %d %+v", op.Call, op.Return, op.ClientId, op.Input)
		}
		t.Fatalf("the story is not that of a lock: %v", result)
	}
	l := client(t, s.server.Open(), lock.Options{TTL: stormTTL}).Lock("x")
	h := acquire(t, l)
	if state, err := l.State(deadline(t)); err != nil || len(state.Holders) != 1 || len(state.Waiting) != 0 ||
		state.Token != h.Token() {
		t.Errorf("after the storm: %+v, %v", state, err)
	}
}

// TestStoriesThatAreNone shows that the check can fail.
func TestStoriesThatAreNone(t *testing.T) {
	t.Parallel()
	op := func(end bool, token cluster.Token, call, back int64) porcupine.Operation {
		return porcupine.Operation{Input: step{end, token}, Call: call, Return: back}
	}
	for name, ops := range map[string][]porcupine.Operation{
		"two at once":     {op(false, 1, 0, 1), op(true, 1, 5, 6), op(false, 2, 2, 3), op(true, 2, 7, 8)},
		"the token again": {op(false, 1, 0, 1), op(true, 1, 2, 3), op(false, 1, 4, 5)},
	} {
		if porcupine.CheckOperations(turnsModel(), ops) {
			t.Errorf("%s: passes for a lock", name)
		}
	}
}
