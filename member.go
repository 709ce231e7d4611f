package rota

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// Config of a member. Member and Store are required; the zero value of the rest works.
type Config struct {
	Member   string        // stable name, unique in the cluster
	Store    Store         // stays the caller's: close it after Leave
	Protocol Protocol      // how the members agree, the same for all of a cluster; default: every member folds one log, package protocol/replica
	Broker   Broker        // has the segments of flows, if it is not Store; the same for all members
	TTL      time.Duration // how long others wait when this member is silent; default 10 s
	Labels   map[string]string
	Weight   int64 // share of the load; 0 means 100
	Capacity int64 // most partitions, without those on slots; 0 means no limit
	Slots    int64 // room for tasks of spread Pool, one on each
	Types    []Type
	// Functions are what this member can run of calls, one on each slot that no task has: a member with functions needs
	// Slots.
	Functions []Function
	// ResultRetention is how long the outcome of a call is kept that nobody collects; default 1 h.
	ResultRetention time.Duration
	// Sources are directories of task files that this member reads, by name of the source; a member whose copy lies
	// elsewhere uses the same name.
	Sources map[string][]string
	// Files are task files that the program itself has, such as an embed.FS, by name of the source. They are looked at
	// again all 1.5 s.
	Files map[string]fs.FS
	// Publisher gets the samples, and is run by the member, once: another member, also a later one of this process,
	// needs another publisher. Leave waits for the end of its Run. Default: samples are counted and dropped.
	Publisher    Publisher
	DrainTimeout time.Duration // how long Leave waits for tasks to move away; default 10 s
	// Hold, if not 0, is for rolling restarts: Leave announces a restart, moves nothing, and the others wait so long
	// for a member of this name before they take its tasks. Nobody runs them meanwhile. All members of a cluster should
	// have the same.
	Hold time.Duration
	// Guard ends the sessions of the member and of its locks when the process is killed, so that others need not wait
	// for the TTL; nil for none. A [guardian.Guardian] of package node/guardian is one.
	Guard  protocol.Guard
	Logger *slog.Logger // default: discard
	Events Events       // optional callbacks
	// Clock is the clock by which the member holds a lease; default protocol.Now, the clock of the machine that goes on
	// while it is suspended. Only tests set it, in a bubble of testing/synctest, to protocol.NewProcessClock(): there a
	// member of a store in memory lives in virtual time.
	Clock func() protocol.Instant
}

// Validate says all that is wrong with the config and can be found without the store; nil where nothing is. [Join]
// calls it.
func (c Config) Validate() error {
	var faults []error
	fail := func(bad bool, text string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(text, args...))
		}
	}
	if err := cluster.CheckName(c.Member); err != nil {
		faults = append(faults, fmt.Errorf("Member: %w", err))
	}
	fail(c.Store == nil, "Store: no store; open one, such as memory.New().Open()")
	fail((c.Broker.Queue == nil) != (c.Broker.Place == ""), "Broker: it needs both, a Queue and its Place")
	fail(c.TTL != 0 && (c.TTL < 300*time.Millisecond || c.TTL > 24*time.Hour),
		"TTL is %s: use 0 for the default, or 300ms to 24h", c.TTL)
	fail(c.Hold < 0 || c.Hold > time.Hour, "Hold is %s: use 0 to 1h", c.Hold)
	fail(c.DrainTimeout < 0, "DrainTimeout is %s: it must not be negative", c.DrainTimeout)
	fail(c.ResultRetention < 0, "ResultRetention is %s: it must not be negative", c.ResultRetention)
	fail(c.Weight < 0 || c.Capacity < 0 || c.Slots < 0, "Weight, Capacity and Slots must not be negative")
	fail(len(c.Functions) > 0 && c.Slots <= 0, "a member with Functions needs Slots to run them on")
	fail(slices.Contains(c.Functions, nil), "Functions: one is nil; make it by NewFunc")
	for _, name := range directory.Names(c.Sources, c.Files) {
		if err := cluster.CheckName(name); err != nil {
			faults = append(faults, fmt.Errorf("Sources: %w", err))
		}
	}
	_, err := typesOf(c.Types)
	return errors.Join(append(faults, err)...)
}

// node is the config of the node that does the work.
func (c Config) node(types work.Types, joined func()) node.Config {
	return node.Config{
		Member: cluster.MemberID(c.Member), Store: c.Store, Protocol: c.Protocol, Broker: c.Broker, TTL: c.TTL,
		Labels: c.Labels, Weight: c.Weight, Capacity: c.Capacity, Slots: c.Slots, Sources: c.Sources, Files: c.Files,
		Types: types, Functions: c.Functions, ResultRetention: c.ResultRetention, Publisher: c.Publisher,
		DrainTimeout: c.DrainTimeout, Hold: c.Hold, Guard: c.Guard, Logger: c.Logger, Clock: c.Clock,
		Events: c.Events.node(joined),
	}
}

// ErrRefused is returned by Submit, Kill and the like when the cluster refuses the command; the error says why.
var ErrRefused = operate.ErrRefused

// Member is a joined member. Its methods may be called from any goroutine.
type Member struct {
	name  string
	node  *node.Node
	ops   *operate.Operator
	locks *Locks
	types work.Types
	calls *CallClient
	stop  context.CancelFunc
	hurry chan struct{}
	once  sync.Once
	done  chan struct{}
	err   error // read when done is closed
	ended context.Context
}

// Join starts a member and returns when it has joined. ctx bounds the joining alone: the member lives until Leave.
func Join(ctx context.Context, c Config) (*Member, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("join: %w", context.Cause(ctx))
	}
	if c.Protocol == nil {
		c.Protocol = replica.Protocol{}
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	types, err := typesOf(c.Types)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	joined := make(chan struct{})
	var once sync.Once
	n, err := node.New(c.node(types, func() { once.Do(func() { close(joined) }) }))
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	calls, err := newCalls(c)
	if err != nil {
		return nil, err
	}
	locks, err := OpenLocks(c.Store, LocksOptions{TTL: c.TTL, Owner: c.Member, Guard: c.Guard, Logger: c.Logger,
		Clock: c.Clock})
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended, end := context.WithCancelCause(context.Background())
	m := &Member{name: c.Member, node: n, ended: ended, ops: operate.New(operate.Inside(n), c.Store, n.Queue(), types,
		c.Member), locks: locks, types: types, calls: calls, stop: stop, hurry: make(chan struct{}),
		done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.err = n.Run(context.WithValue(WithLocks(life, locks), memberKey{}, m), m.hurry)
		locks.closeSoon(c.Logger)
		end(errors.Join(m.err, context.Canceled))
	}()
	select {
	case <-joined:
		return m, nil
	case <-m.done:
		stop()
		return nil, fmt.Errorf("join: %w", m.err)
	case <-ctx.Done():
		away := n.Status().Member.StoreError
		m.abandon()
		<-m.done
		if away != "" {
			return nil, fmt.Errorf("join: %w; the store does not answer: %s", context.Cause(ctx), away)
		}
		return nil, fmt.Errorf("join: %w", context.Cause(ctx))
	}
}

func (m *Member) abandon() {
	m.stop()
	m.once.Do(func() { close(m.hurry) })
}

// Leave moves the member's tasks away, leaves the cluster and returns when all of it has ended. When ctx ends, it
// leaves without waiting for the tasks to move. For those that ignore their context it waits for the TTL and then ten
// seconds, at most. So a task must not wait for Leave.
func (m *Member) Leave(ctx context.Context) error {
	m.stop()
	select {
	case <-m.done:
	case <-ctx.Done():
		m.abandon()
		<-m.done
	}
	m.calls.Close() // after the tasks, which may still submit
	return m.err
}

// Done is closed when the member has ended, in order or not; Leave then returns why.
func (m *Member) Done() <-chan struct{} { return m.done }

// Value is the cluster as this member sees it now.
func (m *Member) Value() Value { return m.node.Whole() }

// Ready says why this member cannot do its work now; nothing when it can.
func (m *Member) Ready() []string { return m.node.Ready() }

// Submit adds a job of one task and returns when it is accepted. The task is checked as a task file is, with the types
// of this member; what is wrong with it is a *[source.MalformedError]. The same job with the same task is accepted
// again, and its run is not repeated; with another task it is refused ([ErrRefused], see Apply). A job that was killed
// stays so ([ErrKilled]).
func (m *Member) Submit(ctx context.Context, job string, t Task) error {
	return m.submit(ctx, job, t, 0)
}

// SubmitAgain is Submit for a job that has ended, also one that was killed: it runs again, from the beginning.
func (m *Member) SubmitAgain(ctx context.Context, job string, t Task) error {
	return m.submit(ctx, job, t, operate.Again)
}

func (m *Member) submit(ctx context.Context, job string, t Task, mode operate.Mode) error {
	what := fmt.Sprintf("submit job %q", job)
	spec, err := t.spec(job, m.types)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return m.ask(ctx, what, func(ctx context.Context) (operate.Answer, error) {
		return m.ops.Submit(ctx, cluster.JobID(job), spec, mode)
	})
}

// SubmitFile submits the job that a file in YAML or JSON defines (several tasks, or one), checked with the task types
// of this member, and returns the job's name when it is accepted. The file's name tells the format and, where the
// definition has none, the name of the job; data is its content, so it may be embedded. What is wrong with the
// definition is a *[source.MalformedError]: file, line, column, and what to try. A job that is there already with the
// same definition is accepted again, with another one refused, see [ErrRefused]; its run is not repeated. One that was
// killed stays so, see [ErrKilled].
func (m *Member) SubmitFile(ctx context.Context, name string, data []byte) (job string, err error) {
	id, spec, err := source.ParseJob(name, data, m.types, nil)
	if err != nil {
		return "", fmt.Errorf("submit job: %w", err)
	}
	return string(id), m.ask(ctx, fmt.Sprintf("submit job %q", id),
		func(ctx context.Context) (operate.Answer, error) { return m.ops.Submit(ctx, id, spec, 0) })
}

// Singleton runs f on one member of the cluster at a time, by a lock of this name: it waits for its turn, calls f, and
// returns what f returns. The ctx of f ends with ctx and with the lock; where the lock was lost, because the store was
// away for too long, Singleton waits for another turn and calls f again. The token grows with every turn: give it to
// what f writes to.
func (m *Member) Singleton(ctx context.Context, name string, f func(ctx context.Context, token Token) error) error {
	for {
		var lost bool
		var said error // an error of f may speak of another lock
		err := m.Lock(name).Do(ctx, func(ctx context.Context, token Token) error {
			said = f(ctx, token)
			lost = errors.Is(context.Cause(ctx), ErrLost)
			return said
		})
		lost = lost || said == nil && errors.Is(err, ErrLost)
		if !lost || ctx.Err() != nil {
			return err
		}
	}
}

// Why Submit, SubmitFile and Apply leave a job as it is.
var (
	// ErrOlder is returned by Apply when the job has a higher version: this replica of the service is the older one.
	ErrOlder = operate.ErrOlder
	// ErrKilled is returned when the job was stopped. Only SubmitAgain starts it again.
	ErrKilled = operate.ErrKilled
)

// Apply makes sure that the job runs by this task, and tells whether that changed anything. Where there is no such job
// it is submitted. Where there is one with a lower Task.Version, it goes on by this task: partitions stay where they
// are, those that run are stopped and started by the new definition. The same version with the same task changes
// nothing, also when the job is completed.
//
// All replicas of a service may call it when they start. While old and new ones run side by side, the higher version
// stands: the call of an older one changes nothing and returns [ErrOlder]. The same version with another task is
// refused ([ErrRefused]), so two replicas cannot take turns; a job that was killed stays killed ([ErrKilled]).
func (m *Member) Apply(ctx context.Context, job string, t Task) (changed bool, err error) {
	spec, err := t.spec(job, m.types)
	if err != nil {
		return false, fmt.Errorf("apply job %q: %w", job, err)
	}
	err = m.ask(ctx, fmt.Sprintf("apply job %q", job), func(ctx context.Context) (operate.Answer, error) {
		a, err := m.ops.Apply(ctx, cluster.JobID(job), spec, t.Version)
		changed = a.Changed
		return a, err
	})
	return changed, err
}

// Events are optional callbacks of a member. They may be called from any goroutine and must return soon; a panic of one
// ends the process. They are for logs and counters: what must not happen twice in a cluster belongs into a task and
// needs its token.
type Events struct {
	// Owned: this member starts to run a partition, and Lost: its run has ended, whatever the reason. A restart on the
	// same member gives both.
	Owned, Lost func(partition string, token Token)
	// Removed: the others counted this member out. It stops its work and joins again.
	Removed func(reason string)
	// StoreLost is called when the store stops answering, StoreBack when it answers again, with the length of the
	// outage.
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

func (e Events) node(joined func()) node.Events {
	out := node.Events{
		Joined: func(cluster.Incarnation, time.Duration) { joined() }, Removed: e.Removed, StoreLost: e.StoreLost,
		StoreBack: e.StoreBack,
	}
	if e.Owned != nil {
		out.Started = func(r supervisor.RunStarted) { e.Owned(string(r.Partition), r.Token) }
	}
	if e.Lost != nil {
		out.Stopped = func(r supervisor.RunStopped) { e.Lost(string(r.Partition), r.Token) }
	}
	return out
}
