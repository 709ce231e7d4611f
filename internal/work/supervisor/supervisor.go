package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Publisher takes the samples of runs; a publish.Publisher is one. Publish must not block.
type Publisher interface {
	Publish(samples ...publish.Sample)
}

// Config of a Supervisor. Types and Member are needed. Callbacks may be called from any goroutine and must not block.
type Config struct {
	Types  work.Types
	Member cluster.MemberID
	// Clock is the suspend-aware clock that also made Assignment.ValidUntil; default protocol.Now.
	Clock func() protocol.Instant
	// Wall is the clock for cron and for records; default time.Now.
	Wall func() time.Time
	// Publisher gets the samples; without one they are counted in Status and dropped.
	Publisher Publisher
	// Journal gets records, complete with time and member.
	Journal func(journal.Record)
	// Positions keeps positions below "position/"; without it LoadPosition and SavePosition fail.
	Positions store.Docs
	// Queue keeps the segments of flows; without it a stage fails.
	Queue store.Queue
	// Propose appends commands, like protocol.Member; without it Split fails.
	Propose func(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
	// Value is the newest value applied here, and Changed a channel that is closed when there is a newer one; call
	// Changed before Value. Without them a Partitioner fails.
	Value   func() cluster.Value
	Changed func() <-chan struct{}
	// Whole is the value of the whole cluster, where Value may be an excerpt; without it Value.
	Whole func() cluster.Value
	// Report receives what runs, as for protocol.Member.Report. It is called from one goroutine.
	Report func(version uint64, reports []protocol.Report)
	// Removed returns why a partition is no longer assigned to this member: CauseMoved, CauseKilled or CauseDrained;
	// default CauseMoved.
	Removed func(p cluster.PartitionID) error
	Logger  *slog.Logger // default: discard
	Events  Events
	// Grace is how long a run may continue after its ctx ended; default DefaultGrace.
	Grace time.Duration
	// Workers bounds the rounds of all periodic types at once; default 1024.
	Workers int
	// MaxSpread bounds the time over which first rounds are spread, so that an hourly check that has just moved or
	// changed does not wait for an hour; default 1 min. Shorter periods are spread over the whole period.
	MaxSpread time.Duration
	// Seed of the jitter of back-offs; default: a hash of Member.
	Seed uint64
}

const (
	defaultWorkers    = 1024
	defaultSpread     = time.Minute
	defaultConcurrent = 256
)

// Supervisor runs the partitions that were granted to this member.
type Supervisor struct {
	conf   Config
	types  map[string]*work.Type // those of conf, with their names
	log    *slog.Logger
	clock  func() protocol.Instant
	pacer  *pacer
	signal *flowSignal
	asks   *asks
	inbox  inbox
	runs   sync.WaitGroup // goroutines of runs and rounds

	validUntil atomic.Int64 // protocol.Instant; read right before each round
	stepped    atomic.Int64 // protocol.Instant of the last step
	ranUntil   atomic.Int64 // protocol.Instant until which the process ran before the present step: before now if it was suspended
	unsent     atomic.Int64 // samples without a publisher
	skipped    atomic.Int64 // rounds of all runs that were
	lateness   histogram

	mu        sync.Mutex // guards what follows
	state     *State
	live      map[cluster.PartitionID]*run
	abandoned []cluster.PartitionID
	wakeAt    protocol.Instant
	ended     bool
	started   bool
}

// New checks the config and returns a supervisor that runs nothing yet.
func New(c Config) (*Supervisor, error) {
	if c.Member == "" {
		return nil, errors.New("make supervisor: Member is empty")
	}
	types, err := stepTypes(c.Types)
	if err != nil {
		return nil, fmt.Errorf("make supervisor: %w", err)
	}
	c.setDefaults()
	s := &Supervisor{
		conf: c, types: make(map[string]*work.Type, len(c.Types)), log: c.Logger, clock: c.Clock,
		live:  map[cluster.PartitionID]*run{},
		inbox: inbox{signal: make(chan struct{}, 1)},
		state: NewState(StepConfig{Member: c.Member, Types: types, Grace: c.Grace, Seed: c.Seed}),
	}
	for name, t := range c.Types { // order-free: a map of the same
		t.Name = name
		s.types[name] = &t
	}
	s.pacer, s.signal, s.asks = newPacer(s), newFlowSignal(c.Positions, c.Logger), newAsks(s)
	return s, nil
}

func (c *Config) setDefaults() {
	c.Clock = orFunc(c.Clock, protocol.Now)
	c.Wall = orFunc(c.Wall, time.Now)
	c.Journal = orFunc(c.Journal, func(journal.Record) {})
	c.Report = orFunc(c.Report, func(uint64, []protocol.Report) {})
	c.Removed = orFunc(c.Removed, func(cluster.PartitionID) error { return work.CauseMoved })
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Grace = cmp.Or(max(c.Grace, 0), DefaultGrace)
	c.Workers = cmp.Or(max(c.Workers, 0), defaultWorkers)
	c.MaxSpread = cmp.Or(max(c.MaxSpread, 0), defaultSpread)
	c.Seed = cmp.Or(c.Seed, hashID(cluster.PartitionID(c.Member)))
}

// orFunc is f, or the default where f is nil.
func orFunc[F func() protocol.Instant | func() time.Time | func(journal.Record) | func(uint64,
	[]protocol.Report) | func(cluster.PartitionID) error](f, byDefault F) F {
	if f == nil {
		return byDefault
	}
	return f
}

func stepTypes(types work.Types) ([]StepType, error) {
	var out []StepType
	for name, t := range types {
		switch {
		case name == "" || t.Name != "" && t.Name != name:
			return nil, fmt.Errorf("the type under the key %q names itself %q: use one name", name, t.Name)
		case t.New == nil:
			return nil, fmt.Errorf("the type %q has no New", name)
		case t.MaxConcurrent < 0:
			return nil, fmt.Errorf("the type %q has MaxConcurrent %d: use 0 for the default", name, t.MaxConcurrent)
		}
		st := StepType{Name: name}
		if !t.Periodic {
			st.MaxRuns = t.MaxConcurrent
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b StepType) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
