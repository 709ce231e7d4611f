package rota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// ClientOptions are those of a [Client]. The zero value works.
type ClientOptions struct {
	// Name is who this is, for people who look at locks and calls: a host, a service. Members share their slots fairly
	// among the names of callers. Default: a name by chance.
	Name     string
	TTL      time.Duration // how long others wait for the locks of a silent client; default 10 s
	Protocol Protocol      // that of the members; default as in [Config]
	// Types, where it has some, are what the tasks of Submit are checked with. A client without types submits what the
	// members check when they run it.
	Types  []Type
	Logger *slog.Logger            // default: discard
	Clock  func() protocol.Instant // see Config.Clock
}

// Client is what a process that is no member does with a cluster: it submits jobs and calls, and uses locks, semaphores
// and statuses. It is a [CallTarget]. Its methods may be called from any goroutine. A [Member] can do all that too.
type Client struct {
	*Locks
	calls *call.Client
	at    *operate.Client
	ops   *operate.Operator
	types work.Types
	log   *slog.Logger
}

// Validate says what is wrong with the options; nil where nothing is.
func (o ClientOptions) Validate() error {
	var faults []error
	if o.Name != "" {
		faults = append(faults, cluster.CheckName(o.Name))
	}
	_, err := typesOf(o.Types)
	return errors.Join(append(faults, err)...)
}

// Open makes a client of a cluster. It makes no call to the store, which stays the caller's: close it after the client.
func Open(s Store, o ClientOptions) (*Client, error) {
	if s == nil {
		return nil, errors.New("open a client: no store")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open a client: %w", err)
	}
	types, err := typesOf(o.Types)
	if err != nil {
		return nil, fmt.Errorf("open a client: %w", err)
	}
	calls, err := call.NewClient(s, call.ClientOptions{Queue: o.Name, Logger: o.Logger, Clock: o.Clock})
	if err != nil {
		return nil, fmt.Errorf("open a client: %w", err)
	}
	locks, err := OpenLocks(s, LocksOptions{TTL: o.TTL, Owner: cmp.Or(o.Name, "client"), Logger: o.Logger,
		Clock: o.Clock})
	if err != nil {
		return nil, fmt.Errorf("open a client: %w", err)
	}
	proto := o.Protocol
	if proto == nil {
		proto = replica.Protocol{}
	}
	by, log := cmp.Or(o.Name, "client"), o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	at := operate.Outside(proto, s, by)
	return &Client{Locks: locks, calls: calls, at: at, ops: operate.New(at, s, nil, types, by), types: types, log: log},
		nil
}

// typesOf is the table of task types.
func typesOf(all []Type) (work.Types, error) {
	types := make(work.Types, len(all))
	for i, t := range all {
		if t.Name == "" || t.New == nil {
			return nil, fmt.Errorf("Types[%d]: it has no name or no New; make it by NewType", i)
		}
		if _, twice := types[t.Name]; twice {
			return nil, fmt.Errorf("two task types are named %q", t.Name)
		}
		types[t.Name] = t
	}
	return types, nil
}

// Calls makes a Client a [CallTarget].
func (c *Client) Calls() *CallClient { return c.calls }

// Value is the cluster as the store has it now.
func (c *Client) Value(ctx context.Context) (Value, error) { return c.at.Value(ctx) }

// Submit is [Member.Submit].
func (c *Client) Submit(ctx context.Context, job string, t Task) error {
	what := fmt.Sprintf("submit job %q", job)
	spec, err := t.spec(job, c.knownTypes(t.Type))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	a, err := c.ops.Submit(ctx, cluster.JobID(job), spec, 0)
	return c.asked(what, a, err)
}

// knownTypes are the types that tasks are checked with: those of the options, or one that takes whatever it is given.
func (c *Client) knownTypes(name string) work.Types {
	if len(c.types) > 0 || name == "" {
		return c.types
	}
	return work.Types{name: {Name: name, New: func(work.Definition) (work.Runner, error) { return nil, nil }}} //nolint:nilnil // it is never run here
}

// Kill is [Member.Kill].
func (c *Client) Kill(ctx context.Context, job string) error {
	a, err := c.ops.Kill(ctx, cluster.JobID(job))
	return c.asked(fmt.Sprintf("kill job %q", job), a, err)
}

func (c *Client) asked(what string, a operate.Answer, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if a.Unjournaled != nil {
		c.log.Warn("it is done, and not in the journal", "what", what, "err", a.Unjournaled)
	}
	return nil
}

// Close lets go of all locks and frees the client. Jobs and calls go on in the cluster; callers that wait for a call
// get [ErrClosed].
func (c *Client) Close(ctx context.Context) error {
	c.calls.Close()
	return c.Locks.Close(ctx)
}

// Worker is a member that runs functions.
type Worker struct {
	Member string
	Idle   int64 // slots that neither a task nor a call has
}

// IdleWorkers waits until a member has an idle slot, and returns all that have one, those with the most first. A call
// that was submitted to one of them (On of [FuncOptions]) takes a slot, also before it runs; other calls do when they
// run. It reads all calls that the store has. Others may be quicker: a call for a member that is busy again waits.
func (c *Client) IdleWorkers(ctx context.Context) ([]Worker, error) {
	for {
		changed := c.at.Changed()
		v, err := c.at.Value(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for idle workers: %w", err)
		}
		calls, _, err := call.List(ctx, c.docs)
		if err != nil {
			return nil, fmt.Errorf("look for idle workers: %w", err)
		}
		if idle := idleWorkers(v, calls); len(idle) > 0 {
			return idle, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for an idle worker: %w", context.Cause(ctx))
		}
	}
}

func idleWorkers(v Value, calls []call.Listed) []Worker {
	taken := make(map[cluster.MemberID]int64)
	for i := range calls {
		switch r := &calls[i].Record; {
		case r.State == call.Running:
			taken[r.Runner.Member]++
		case r.State == call.Queued && r.On != "":
			taken[r.On]++
		}
	}
	var idle []Worker
	for m := range v.Members() {
		if m.State != cluster.MemberJoined || m.Draining || len(call.Offered(m)) == 0 {
			continue
		}
		n := m.Slots - taken[m.ID]
		for p := range v.OwnedBy(m.ID) {
			if p.Slot != 0 && p.Owner == m.ID {
				n--
			}
		}
		if n > 0 {
			idle = append(idle, Worker{string(m.ID), n})
		}
	}
	slices.SortStableFunc(idle, func(a, b Worker) int { return cmp.Compare(b.Idle, a.Idle) })
	return idle
}

// MarkDead gives a member no more work, and its tasks and waiting calls to others, until it is undrained: it is
// [Member.Drain]. A member whose process has ended needs no mark: the others remove it.
func (c *Client) MarkDead(ctx context.Context, member string) error {
	a, err := c.ops.Drain(ctx, cluster.MemberID(member))
	return c.asked(fmt.Sprintf("mark member %q dead", member), a, err)
}
