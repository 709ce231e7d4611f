// Package protocol holds what every protocol offers to the layer above: the value, the grants that this member should be
// running now and until when it may trust them, and a way to propose.
package protocol

import (
	"context"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Instant is a reading of this machine's suspend-aware monotonic clock (CLOCK_BOOTTIME), in nanoseconds. Instants of two machines are never
// compared.
type Instant int64

// Add adds a duration.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub gives t−u.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Grant is one partition that this member should be running.
type Grant struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Handover  cluster.Handover
	Attempt   int64 // failures so far: the runner waits its back-off before it starts
	Parents   []string
	// ListedBy is the key of the partitioner that has listed this item of its window, Input what it is to work on; see cluster.AdvanceWindow.
	ListedBy string
	Input    []byte
	// Index and Count are the share of a slot of a task that is repartitioned: number Index, from 0, of Count slots.
	Index, Count int64
	// Spec is the task's spec; two grants with the same SpecIndex have the same Spec.
	Spec      *cluster.TaskSpec
	SpecIndex cluster.Index
	// From is the former owner ("" if none) and Cause why it moved, for the journal.
	From  cluster.MemberID
	Cause string
}

// Assignment is what this member should be doing now. It is level-triggered: what is not in it must stop.
type Assignment struct {
	Index  cluster.Index // of the value it was derived from
	Grants []Grant       // sorted by partition; shared, not to be changed
	// Version grows when Grants differ from those of the assignment before.
	Version uint64
	// TrustUntil is the instant after which nothing may be done under these grants, but for tasks that keep on store loss.
	TrustUntil Instant
}

// Report is what the supervisor tells about one partition. It is level-triggered too: the whole present state is told again
// after each change, and the protocol proposes until the value agrees.
type Report struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	State     RunState
	Attempt   int64  // finished or failed: the attempt count that the run began with
	Fresh     bool   // failed: forgive older failures
	Message   string // failed: why
}

// RunState is the state of a run on this member.
type RunState uint8

// The run states. A partition that is not reported is not running here.
const (
	RunActive   RunState = iota // running, backing off, or being stopped: not safe to give away
	RunFinished                 // ended with nil: done
	RunFailed                   // ended with an error
)

// Member is one member of a cluster, under any protocol.
type Member interface {
	View
	// Run takes part until ctx ends, then leaves in order, and returns when everything has ended. It may be called once. Its error is nil after
	// an orderly leave; otherwise it says why the member ended: a [NameTakenError], a log that was rewritten, a newer format.
	Run(ctx context.Context) error
	// Assignments delivers the newest assignment; older ones are dropped if not taken. One reader. Closed when Run returns.
	Assignments() <-chan Assignment
	// Report replaces the supervisor's reports. Version is Assignment.Version of the newest assignment that the supervisor has
	// taken in, so that "not reported" means "not running here, and will not be started" for what that assignment leaves out.
	Report(version uint64, reports []Report)
	// Propose has commands applied and returns when they were applied here, one result each; or ctx's cause, and then the outcome is unknown.
	Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
}

// View is what a member knows of the cluster. Its methods may be called from any goroutine.
type View interface {
	// Value returns the newest value that this member has. Its members are complete as of its index: one that joined at or before that index and is not
	// in it has been removed, and acts no more. Of jobs and partitions it may have only those of this member: see Status.Light.
	Value() cluster.Value
	// Tenure is the incarnation in which this member is joined now, and until when it may act under it without hearing more; zero while it is
	// not joined.
	Tenure() (cluster.Incarnation, Instant)
	Status() Status
}

// Status is what only the process knows of its membership.
type Status struct {
	Joined     bool   `json:"joined"`
	StoreError string `json:"store_error,omitempty"` // "" when the store answers
	TrustMS    int64  `json:"trust_ms"`              // for how long the present grants are still valid
	Pending    int    `json:"pending"`               // proposals that wait to be written
	// Foreign counts the entries of the log, since the member started, that no member with its history can have written.
	Foreign uint64 `json:"foreign,omitempty"`
	// Light: the member has an excerpt of the value, all members and its own tasks; for the whole one, Protocol.Observe.
	Light bool `json:"light,omitempty"`
}

// Protocol is one way for members to agree on a value. Its methods may be called from any goroutine.
type Protocol interface {
	// Name is what flags, documents and screens call it.
	Name() string
	// Fits returns why the protocol cannot work on a store; nil if it can.
	Fits(s Store) error
	// New checks the config and makes a member; Member.Run starts it.
	New(c Config) (Member, error)
	// Observe returns the newest value that the store has, without taking part. v is an older one to go on from; the zero value to begin.
	Observe(ctx context.Context, s Store, v cluster.Value) (cluster.Value, error)
	// Client proposes commands without being a member.
	Client(s Store) (Client, error)
}

// Client proposes commands to a cluster from outside. One goroutine at a time.
type Client interface {
	// Propose returns when the commands were applied, one result each. When ctx ends before that, the outcome is unknown.
	Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
}

// Historian is a protocol that keeps what was decided.
type Historian interface {
	// History yields the applied entries with an index above after, as far as they are kept, each with the value that it led to.
	History(ctx context.Context, s Store, after cluster.Index, yield func(cluster.Value, Applied) bool) error
}
