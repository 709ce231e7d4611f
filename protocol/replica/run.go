package replica

import (
	"context"
	"log/slog"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Store is what replica needs of a store; Watcher, LogWatcher and Sessions are used where the store has them.
type Store interface {
	store.Store
	store.Docs
	store.Log
}

// Config of one member.
type Config struct {
	Member   cluster.MemberID
	Store    Store
	TTL      time.Duration // how long others wait for a silent member; default 10 s
	Slots    int64
	Weight   int64
	Capacity int64
	Labels   []cluster.Label
	Address  string
	Version  string
	// NoSessions uses heartbeat documents alone, also where the store has sessions.
	NoSessions bool
	Logger     *slog.Logger // default: discard
	Events     Events
}

// Events are optional callbacks, called one after the other from the member's goroutine; they must return soon.
type Events struct {
	Joined  func(inc cluster.Incarnation)
	Removed func(reason string) // it found itself removed and will join anew
	// Applied is called after each batch of entries.
	Applied   func(v cluster.Value, entries []Applied)
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

// Applied is an entry with what its commands did.
type Applied struct {
	Entry     cluster.Entry
	Results   []cluster.Result
	Duplicate bool
}

// Replica is one member under this protocol.
type Replica struct{}

var _ protocol.Member = (*Replica)(nil)

// New checks the config and makes a member; Run starts it.
func New(c Config) (*Replica, error) { return &Replica{}, nil }

// Run implements protocol.Member.
func (r *Replica) Run(ctx context.Context) error { return nil }

// Assignments implements protocol.Member.
func (r *Replica) Assignments() <-chan protocol.Assignment { return nil }

// Report implements protocol.Member.
func (r *Replica) Report(version uint64, reports []protocol.Report) {}

// Propose implements protocol.Member.
func (r *Replica) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	return nil, nil
}

// Value implements protocol.Member.
func (r *Replica) Value() cluster.Value { return cluster.Value{} }

// Status is what only the process knows of its membership.
type Status struct {
	Joined     bool
	StoreError string // "" when the store answers
	TrustMS    int64  // for how long the present grants may still be trusted
	Behind     int64  // entries not applied yet
}

// Status returns the present status.
func (r *Replica) Status() Status { return Status{} }

// Observe folds the log from v (the zero value to begin) to its head and returns the value there. It writes nothing.
func Observe(ctx context.Context, l store.Log, v cluster.Value) (cluster.Value, error) { return v, nil }

// Client appends commands without being a member.
type Client struct{}

// NewClient makes a client with a writer ID of its own.
func NewClient(l store.Log) *Client { return &Client{} }

// Propose appends commands and returns when they stand in the log and were applied to the client's own replica of the value.
func (c *Client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	return nil, nil
}

// History yields the applied entries behind after, as far as the log keeps them.
func History(ctx context.Context, l store.Log, after cluster.Index, yield func(cluster.Value, Applied) bool) error {
	return nil
}
