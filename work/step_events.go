package work

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// An Event is what Step reacts to. The set is closed. Each carries the instant at which it is handled.
type Event interface {
	event()
	now() protocol.Instant
}

type (
	// Assigned brings the newest assignment and the end of its lease.
	Assigned struct {
		Now        protocol.Instant
		Assignment protocol.Assignment
	}
	// Lease changes only the end of the lease of the present assignment.
	Lease struct{ Now, Until protocol.Instant }
	// Tick reports that time has passed.
	Tick struct{ Now protocol.Instant }
	// Exited reports that the run that Start began has ended. There is exactly one for each Start.
	Exited struct {
		Now       protocol.Instant
		Partition cluster.PartitionID
		Token     cluster.Token
		Outcome   Outcome
		Message   string // failed: why
		RanFor    time.Duration
	}
	// Shutdown stops everything for good.
	Shutdown struct{ Now protocol.Instant }
)

func (Assigned) event() {}
func (Lease) event()    {}
func (Tick) event()     {}
func (Exited) event()   {}
func (Shutdown) event() {}

func (e Assigned) now() protocol.Instant { return e.Now }
func (e Lease) now() protocol.Instant    { return e.Now }
func (e Tick) now() protocol.Instant     { return e.Now }
func (e Exited) now() protocol.Instant   { return e.Now }
func (e Shutdown) now() protocol.Instant { return e.Now }

// Outcome is how a run ended.
type Outcome uint8

// The outcomes. A run whose ctx ended before it returned is stopped, whatever it returned.
const (
	Finished Outcome = iota
	Failed
	Stopped
)

// StopCause is why a run is stopped.
type StopCause uint8

// The causes. If a partition is no longer assigned, the shell finds out whether it was moved, killed or drained.
const (
	StopUnassigned StopCause = iota
	StopToken                // granted to this member again under another token
	StopChanged              // type or definition changed
	StopLease
	StopShutdown
)

// String names the cause.
func (c StopCause) String() string {
	return [...]string{"unassigned", "token", "changed", "lease", "shutdown"}[c]
}

// An Effect is an action that Step requests, in order. The set is closed.
type Effect interface{ effect() }

type (
	// Start begins a run. The partition has no other run on this member.
	Start struct {
		Grant      *protocol.Grant // shared, read-only
		Definition *Definition     // shared, read-only
		First      bool            // no run under this token was started before: the partition is new here
	}
	// Stop ends the ctx of the partition's run, once.
	Stop struct {
		Partition cluster.PartitionID
		Token     cluster.Token
		Cause     StopCause
	}
	// Abandon reports, during shutdown, that the supervisor no longer waits for a run.
	Abandon struct {
		Partition cluster.PartitionID
		Token     cluster.Token
	}
	// Report replaces what the protocol knows of this member's runs; at most one per step, the complete present state, sorted by
	// partition. Version is that of the newest applied assignment.
	Report struct {
		Version uint64
		Reports []protocol.Report
	}
	// Journal writes a record; the shell adds time and member.
	Journal struct{ Record journal.Record }
	// WakeAt requests a Tick at an instant; it replaces the previous request. Zero: no Tick is needed.
	WakeAt struct{ At protocol.Instant }
	// Ended is the last effect: after Shutdown the supervisor waits for no further run.
	Ended struct{}
)

func (Start) effect()   {}
func (Stop) effect()    {}
func (Abandon) effect() {}
func (Report) effect()  {}
func (Journal) effect() {}
func (WakeAt) effect()  {}
func (Ended) effect()   {}
