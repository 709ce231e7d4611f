// Package protocol defines what every protocol offers to the layer above: the value, the grants that this member should
// be running now with the end of its lease, and a way to propose commands.
package protocol

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Instant is a reading of this machine's suspend-aware monotonic clock (CLOCK_BOOTTIME), in nanoseconds. Instants of
// two machines are never compared.
type Instant int64

// At returns t: what embeds an instant happens at it.
func (t Instant) At() Instant { return t }

// Add adds a duration.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns t−u.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Grant is one partition that this member should be running.
type Grant struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Handover  cluster.Handover
	Attempt   int64 // failures so far: the supervisor waits for the back-off before it starts
	Parents   []string
	// ListedBy is the key of the partitioner that listed this item of its window, Input its input; see
	// cluster.AdvanceWindow.
	ListedBy string
	Input    []byte
	// Index and Count identify a slot's share of a repartitioned task: it has number Index, from 0, of Count slots.
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
	Grants []*Grant      // sorted by partition; shared, read-only
	// Version grows when Grants differ from those of the previous assignment.
	Version uint64
	// ValidUntil is the end of the lease: after it nothing may be done under these grants, except by tasks that keep
	// running on store loss.
	ValidUntil Instant
}

// Report is the supervisor's report on one partition. It is level-triggered too: the complete present state is reported
// again after each change, and the protocol proposes until the value agrees.
type Report struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	State     RunState
	Fresh     bool   // failed: forgive earlier failures
	Attempt   int64  // finished or failed: the attempt count that the run began with
	Message   string // failed: why
}

// RunState is the state of a run on this member.
type RunState uint8

// The run states. A partition without a report is not running here.
const (
	RunActive   RunState = iota // running, backing off, or stopping: another member must not start it
	RunFinished                 // ended with nil: done
	RunFailed                   // ended with an error
)

// Member is one member of a cluster, under any protocol.
type Member interface {
	View
	// Run takes part until ctx ends, then leaves gracefully, and returns when everything has ended. It may be called
	// once. Its error is nil after a graceful leave; otherwise it is the reason why the member ended: a
	// [NameTakenError], a log that was rewritten, a newer format.
	Run(ctx context.Context) error
	// Assignments delivers the newest assignment; older ones are dropped if not received. It has one reader, and is
	// closed when Run returns.
	Assignments() <-chan Assignment
	// Report replaces the supervisor's reports. Version is Assignment.Version of the newest assignment that the
	// supervisor has applied, so that a partition that is neither reported nor in that assignment is not running here,
	// and will not be started.
	Report(version uint64, reports []Report)
	// Propose returns when the commands were applied here, with one result each; or with ctx's cause, and then the
	// outcome is unknown.
	Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
}

// View is what a member knows of the cluster. Its methods may be called from any goroutine.
type View interface {
	// Value returns the newest value of this member. Its members are complete as of its index: a member that joined at
	// or before that index and is not in it has been removed, and acts no more. It may have only the jobs and
	// partitions of this member: see Status.Light.
	Value() cluster.Value
	// Tenure returns the incarnation in which this member is joined now, and the end of its lease unless it is renewed;
	// zero while it is not joined.
	Tenure() (cluster.Incarnation, Instant)
	Status() Status
}

// Status is the part of the state of a membership that only its process knows.
type Status struct {
	Joined     bool   `json:"joined"`
	StoreError string `json:"store_error,omitempty"` // "" if the store answers, and takes writes
	LeaseMS    int64  `json:"lease_ms"`              // remaining validity of the present grants
	TTLMS      int64  `json:"ttl_ms,omitempty"`      // the member's TTL where it is longer than usual, because its renewals are slow; else 0
	Pending    int    `json:"pending"`               // proposals that are not written yet
	// Foreign counts the log entries, since the member started, that no member with its history can have written.
	Foreign uint64 `json:"foreign,omitempty"`
	// Refused counts the proposals of this member, since it started, that readers passed over, and what it wanted and
	// the cluster refused.
	Refused uint64 `json:"refused,omitempty"`
	// Light: the member has an excerpt of the value, with all members and its own tasks; for the whole value see
	// Protocol.Observe.
	Light bool `json:"light,omitempty"`
}

// Protocol is one way for members to agree on a value. Its methods may be called from any goroutine.
type Protocol interface {
	// Name is its name in flags, documents and on screens.
	Name() string
	// Fits returns why the protocol cannot work on a store, or nil.
	Fits(s Store) error
	// New checks the config and makes a member; Member.Run starts it.
	New(c Config) (Member, error)
	// Observe returns the newest value in the store, without taking part. v is an earlier result to continue from, or
	// the zero value.
	Observe(ctx context.Context, s Store, v cluster.Value) (cluster.Value, error)
	// Client proposes commands without being a member.
	Client(s Store) (Client, error)
}

// Client proposes commands to a cluster from outside. One goroutine at a time.
type Client interface {
	// Propose returns when the commands were applied, one result each. When ctx ends before that, the outcome is
	// unknown.
	Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
}

// Historian is a protocol that keeps its decisions.
type Historian interface {
	// History yields the applied entries with an index above after, as far as they are kept, each with the resulting
	// value.
	History(ctx context.Context, s Store, after cluster.Index, yield func(cluster.Value, Applied) bool) error
	// Oldest returns the value that the oldest kept entry follows: that of the snapshot, or the empty one.
	Oldest(ctx context.Context, s Store) (cluster.Value, error)
}

// NewProcessClock returns a clock that reads the monotonic clock of this process. It stops while the machine is
// suspended, so production members use [Now]. In a bubble of testing/synctest it reads virtual time, which Now cannot.
func NewProcessClock() func() Instant {
	start := time.Now()
	return func() Instant { return Instant(time.Since(start)) + 1 }
}

// Leased is the context of what may be done only under a lease. Its Err and Done look at the clock: a process that was
// suspended finds the lease over before one of its timers has fired. A context derived from it ends a moment later, so
// it has to be the outermost.
type Leased struct {
	context.Context
	// Look ends Context if the lease is over. It is called only until then.
	Look func()
}

func (l Leased) look() context.Context {
	if l.Context.Err() == nil {
		l.Look()
	}
	return l.Context
}

// Err implements context.Context.
func (l Leased) Err() error { return l.look().Err() }

// Done implements context.Context.
func (l Leased) Done() <-chan struct{} { return l.look().Done() }

// NameTakenError reports that a live process is in the cluster under this member's name.
type NameTakenError struct{ Member cluster.MemberID }

// Error names the member.
func (e *NameTakenError) Error() string {
	return fmt.Sprintf("member %q is already running in this cluster", e.Member)
}

// EvictedError reports that a person has ended this start of the member: it comes back when it is started again.
type EvictedError struct {
	Member cluster.MemberID
	By     string // who; "" where nobody says
}

// Error says who was evicted, and by whom.
func (e *EvictedError) Error() string {
	return fmt.Sprintf("member %q was evicted by %s, and has left", e.Member, cmp.Or(e.By, "a person"))
}

// OtherProtocolError reports that the members of this store use another protocol.
type OtherProtocolError struct{ Has, Asked string }

// Error names both protocols.
func (e *OtherProtocolError) Error() string {
	return fmt.Sprintf("the cluster uses the protocol %q, not %q: all members of a cluster use one", e.Has, e.Asked)
}

// OtherQueueError reports that the members of this store keep the segments of flows in another queue.
type OtherQueueError struct{ Has, Asked string }

// Error names both places.
func (e *OtherQueueError) Error() string {
	return fmt.Sprintf("the cluster keeps its flows in %s, not in %s: all members of a cluster use one queue",
		queueText(e.Has), queueText(e.Asked))
}

func queueText(place string) string {
	if place == OwnQueue {
		return "its store"
	}
	return place
}

// DivergedError says that the store lost or rewrote part of the log: this member's history and the log's are two.
type DivergedError struct {
	Index  cluster.Index
	Reason string
}

// Error names the place and the reason.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("the log was rewritten at or after index %d: %s", e.Index, e.Reason)
}
