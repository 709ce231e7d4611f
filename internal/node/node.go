package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Config of a node. Member, Store and Protocol are required.
type Config struct {
	Member     cluster.MemberID
	Store      protocol.Store
	Protocol   protocol.Protocol // how the members agree; all members of a cluster use one
	Broker     store.Broker      // has the segments of flows; default: Store, if it has a queue
	TTL        time.Duration     // how long others wait when this member is silent; default 10 s
	Labels     map[string]string
	Weight     int64
	Capacity   int64
	Slots      int64
	NoSessions bool // heartbeats alone, also where the store has sessions
	// Sources are the directories that this member declares, by source name.
	Sources map[string][]string
	// Files are task files that the program itself has, by source name.
	Files map[string]fs.FS
	// Cache has what was read of the sources before, so that this node need not read it again; default: an empty one.
	Cache *directory.Cache
	Types work.Types
	// Functions are what this member runs calls of, one on each slot that no task has.
	Functions []call.Function
	// ResultRetention is how long the outcome of a call is kept that nobody collects; default 1 h.
	ResultRetention time.Duration
	// Publisher gets the samples; the node runs it. Default: none.
	Publisher publish.Publisher
	// Journal keeps records; default: in the store.
	Journal journal.Journal
	// Storages get a copy of each record. Each has a queue of its own: one that is away delays neither the journal nor
	// the others.
	Storages []journal.Appender
	Address  string // of the API, for people
	Version  string
	// DrainTimeout bounds how long partitions may take to move away before the node leaves; default 10 s.
	DrainTimeout time.Duration
	// Hold, if not 0, makes each leave an announced restart: the node does not drain, and the others keep its
	// partitions for it, as long as their own Hold says. All members of a cluster should have the same.
	Hold   time.Duration
	Logger *slog.Logger // default: discard
	// Guard hears of the sessions of the member's heartbeats; nil for none. See package guardian.
	Guard protocol.Guard
	// Kept is what the member keeps on disk, so that it can start while the store is away; nil for nothing.
	Kept *Kept
	// WitnessPath is a file that gets a WitnessLine for each start and stop of a run; for demonstrations and tests. ""
	// for none.
	WitnessPath string
	Events      Events
	// Clock is the clock of the member and of all that it runs; default protocol.Now. Only tests set it: under
	// testing/synctest to protocol.NewProcessClock().
	Clock func() protocol.Instant
}

// Events are optional callbacks. They may be called from any goroutine and must return soon.
type Events struct {
	Joined  func(inc cluster.Incarnation, took time.Duration)
	Removed func(reason string)
	Started func(supervisor.RunStarted)
	Stopped func(supervisor.RunStopped)
	// StoreLost and StoreBack tell when the store stops and begins to answer.
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

// Node is one member. Its methods may be called from any goroutine; Run once.
type Node struct {
	c        Config
	member   protocol.Member
	sup      *supervisor.Supervisor
	calls    *call.Worker
	whole    whole
	records  *journal.Buffered
	copies   []*journal.Buffered // of the records, on their way to Storages
	started  time.Time
	changed  wait.Change
	stats    *stats
	absence  absence
	failing  *failing
	witness  *witness
	leaving  atomic.Bool
	heldSeen atomic.Bool // what was held for this start of the member was noted
	sources  *sources
	rejoined wait.Wake     // the member has joined, or joined again
	suspect  wait.Wake     // it has joined, or was drained: perhaps it was evicted
	first    atomic.Uint64 // the incarnation in which this start has joined first; 0 while it has not
	evict    context.CancelCauseFunc
	away     atomic.Pointer[error] // why the place cannot be claimed yet; nil once it is
}

// New checks the config and makes a node.
func New(c Config) (*Node, error) {
	c.TTL, c.DrainTimeout = cmp.Or(c.TTL, 10*time.Second), cmp.Or(c.DrainTimeout, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = protocol.Now
	}
	if c.Store == nil {
		return nil, errors.New("node: no store")
	}
	if c.Protocol == nil {
		return nil, errors.New("node: no protocol")
	}
	if c.Broker.Queue == nil {
		c.Broker.Queue, _ = c.Store.(store.Queue)
		c.Broker.Place = protocol.OwnQueue
	}
	if c.Journal == nil {
		c.Journal = journal.NewDocs(c.Store, string(c.Member), 0)
	}
	n := &Node{c: c, rejoined: wait.NewWake(), suspect: wait.NewWake(), stats: newStats(),
		failing: newFailing(c.Member), started: time.Now()}
	n.sources = newSources(n)
	n.records = journal.NewBuffered(c.Journal, c.Logger)
	for _, s := range c.Storages {
		n.copies = append(n.copies, journal.NewBuffered(s, c.Logger))
	}
	var err error
	if n.member, err = n.newMember(); err != nil {
		return nil, fmt.Errorf("member %s: %w", c.Member, err)
	}
	if n.sup, err = n.newSupervisor(); err != nil {
		return nil, fmt.Errorf("member %s: %w", c.Member, err)
	}
	if n.calls, err = n.newWorker(); err != nil {
		return nil, fmt.Errorf("member %s: %w", c.Member, err)
	}
	if n.witness, err = openWitness(c.WitnessPath, c.Member, c.Logger); err != nil {
		return nil, fmt.Errorf("member %s: %w", c.Member, err)
	}
	return n, nil
}

func (n *Node) newMember() (protocol.Member, error) {
	return n.c.Protocol.New(protocol.Config{
		Member: n.c.Member, Store: n.c.Store, TTL: n.c.TTL, Slots: n.c.Slots, Weight: n.c.Weight,
		Capacity: n.c.Capacity,
		Labels:   n.labels(), Address: n.c.Address, Version: n.c.Version, NoSessions: n.c.NoSessions, Hold: n.c.Hold,
		Restart: n.c.Hold > 0,
		Whole:   len(n.sources.names) > 0, Guard: n.c.Guard, Clock: n.c.Clock, Logger: n.c.Logger,
		Events: protocol.Events{Joined: n.joined, Removed: n.removed, Did: n.did, Changed: n.valueChanged,
			Refused: n.refused, StoreLost: n.storeLost, StoreBack: n.storeBack},
	})
}

func (n *Node) labels() []cluster.Label {
	all := maps.Clone(n.c.Labels)
	if all == nil {
		all = make(map[string]string)
	}
	for _, name := range n.sources.names {
		all[directory.LabelKey(name)] = "yes"
	}
	maps.Copy(all, call.Labels(n.c.Functions))
	labels := make([]cluster.Label, 0, len(all))
	for k, v := range all {
		labels = append(labels, cluster.Label{Key: k, Value: v})
	}
	slices.SortFunc(labels, func(a, b cluster.Label) int { return strings.Compare(a.Key, b.Key) })
	return labels
}

func (n *Node) newSupervisor() (*supervisor.Supervisor, error) {
	types := maps.Clone(n.c.Types)
	if types == nil {
		types = work.Types{}
	}
	if len(n.sources.names) > 0 {
		src := n.sources.config().Type()
		types[src.Name] = src
	}
	return supervisor.New(supervisor.Config{
		Queue: n.c.Broker.Queue, Types: types, Member: n.c.Member, Clock: n.c.Clock, Publisher: n.c.Publisher,
		Journal: n.record, Positions: n.c.Store,
		Propose: n.member.Propose, Value: n.member.Value, Whole: n.Whole, Changed: n.changed.Next,
		Report: n.member.Report, Removed: n.whyRemoved, Logger: n.c.Logger,
		Events: supervisor.Events{Started: n.runStarted, Stopped: n.runStopped, RoundDone: n.roundDone,
			Frozen: n.frozen},
	})
}

// Value returns the newest value that the member has; see protocol.View and [Node.Whole].
func (n *Node) Value() cluster.Value { return n.member.Value() }

// Changed returns a channel that is closed when a newer value than the present one was applied here. Take it before
// looking at the value.
func (n *Node) Changed() <-chan struct{} { return n.changed.Next() }

// Propose appends commands; see protocol.Member.
func (n *Node) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	return n.member.Propose(ctx, commands...)
}

// Status is what only this process knows.
type Status struct {
	Name           cluster.MemberID  `json:"name"` // of the member
	Member         protocol.Status   `json:"member"`
	Work           supervisor.Status `json:"work"`
	Calls          call.Status       `json:"calls"`
	JournalDropped int64             `json:"journal_dropped"`
	Samples        publish.Stats     `json:"samples"`
	Sinks          []publish.Status  `json:"sinks"` // where the samples go
	UpMS           int64             `json:"up_ms"`
}

// Status returns the present status.
func (n *Node) Status() Status {
	s := Status{Name: n.c.Member, Sinks: []publish.Status{}, Member: n.member.Status(), Work: n.sup.Status(),
		Calls: n.calls.Status(), JournalDropped: n.dropped()}
	if n.c.Publisher != nil {
		s.Samples, s.Sinks = n.c.Publisher.Stats(), publish.Sinks(n.c.Publisher)
	}
	if away := n.away.Load(); away != nil && s.Member.StoreError == "" {
		s.Member.StoreError = (*away).Error()
	}
	s.UpMS = time.Since(n.started).Milliseconds()
	return s
}

// Journal is where the node's records go.
func (n *Node) Journal() journal.Journal { return n.c.Journal }

// Queue has the segments of flows; nil where there is none.
func (n *Node) Queue() store.Queue { return n.c.Broker.Queue }

// Member is the node's name.
func (n *Node) Member() cluster.MemberID { return n.c.Member }

// Run takes part until ctx ends, then drains and leaves. It returns when all its goroutines have ended. Ending ctx's
// parent does not hurry it; hurry, when closed, does: then it does not wait for others to take what it runs. A member
// that is evicted leaves too, and Run returns a [protocol.EvictedError].
func (n *Node) Run(ctx context.Context, hurry <-chan struct{}) error {
	defer n.witness.close()
	ctx, n.evict = context.WithCancelCause(ctx)
	defer n.evict(nil)
	member, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	tail, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var tails, all sync.WaitGroup
	n.runTails(tail, &tails)
	var workErr, err error
	assignments := n.keeping(&all, n.member.Assignments())
	all.Go(func() { workErr = n.sup.Run(tail, assignments) })
	gone := make(chan struct{})
	here, left := context.WithCancel(member)
	all.Go(func() {
		defer left()
		defer close(gone)
		err = n.take(member)
	})
	all.Go(func() { n.obeyDrain(here) })
	all.Go(func() { n.obeyEvict(here) })
	all.Go(func() { n.sources.declare(here) })
	all.Go(func() { n.sources.publish(here) })
	calls := n.runCalls(ctx, gone, hurry)
	var evicted *protocol.EvictedError
	select {
	case <-ctx.Done():
		if errors.As(context.Cause(ctx), &evicted) || n.c.Hold == 0 {
			n.drain(gone, hurry)
		}
	case <-gone:
	}
	n.leaving.Store(true)
	<-calls // others may run them as soon as this member has left
	leave(context.Cause(ctx))
	<-gone // with its runs: it leaves when the supervisor has said that they have stopped
	end()
	all.Wait()
	tails.Wait()
	if evicted != nil {
		err = errors.Join(evicted, err)
	}
	return errors.Join(err, workErr)
}

// take takes part in the cluster until ctx ends and the member has left, once the place is one of our protocol.
func (n *Node) take(ctx context.Context) error {
	if err := n.claimPlace(ctx); err != nil {
		// Its readers must see the end of the assignments: a member that never ran ends at once.
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return errors.Join(err, n.member.Run(ended))
	}
	return n.member.Run(ctx)
}

// claimPause is between two attempts to read which protocol a place has.
const claimPause = 200 * time.Millisecond

// claimPlace returns when the place is one of our protocol, or with the reason why it never will be. A store that is
// away is waited for; what keeps on store loss runs until it answers.
func (n *Node) claimPlace(ctx context.Context) error {
	defer n.kept()
	end := sync.OnceValue(n.keep)
	defer func() {
		if n.away.Load() != nil {
			end()() // before the member takes part: what it kept is not what it is assigned
		}
		n.away.Store(nil)
	}()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, n.c.TTL)
		err := protocol.Claim(limited, n.c.Store,
			protocol.Place{Protocol: n.c.Protocol.Name(), Queue: n.c.Broker.Place})
		cancel()
		var other *protocol.OtherProtocolError
		var queue *protocol.OtherQueueError
		if err == nil || errors.As(err, &other) || errors.As(err, &queue) || errors.Is(err, protocol.ErrPlaceDamaged) ||
			errors.Is(err, store.ErrClosed) {
			return err
		}
		n.away.Store(&err)
		end() // begins, the first time
		n.c.Logger.Warn("the store does not answer", "err", err)
		wait.For(ctx, claimPause)
	}
	return nil
}

// runTails runs what must outlive the work, so that its last words arrive.
func (n *Node) runTails(ctx context.Context, wg *sync.WaitGroup) {
	wg.Go(func() { n.records.Run(ctx) })
	for _, c := range n.copies {
		wg.Go(func() { c.Run(ctx) })
	}
	wg.Go(func() { n.keepFailing(ctx) })
	wg.Go(func() { n.keepSinks(ctx) })
	wg.Go(func() { n.sweepFlows(ctx) })
	wg.Go(func() { n.wakeLookers(ctx) })
	if n.c.Publisher != nil {
		wg.Go(func() {
			if err := n.c.Publisher.Run(ctx); err != nil && ctx.Err() == nil {
				n.c.Logger.Error("publish samples", "err", err)
			}
		})
	}
}
