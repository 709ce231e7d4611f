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
	// Assigned brings the newest assignment, and with it how long it may be trusted.
	Assigned struct {
		Now        protocol.Instant
		Assignment protocol.Assignment
	}
	// Trust changes only how long the present assignment may be trusted.
	Trust struct{ Now, Until protocol.Instant }
	// Tick says that time has passed.
	Tick struct{ Now protocol.Instant }
	// Exited says that the run that Start began has ended. There is exactly one for each Start.
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
func (Trust) event()    {}
func (Tick) event()     {}
func (Exited) event()   {}
func (Shutdown) event() {}

func (e Assigned) now() protocol.Instant { return e.Now }
func (e Trust) now() protocol.Instant    { return e.Now }
func (e Tick) now() protocol.Instant     { return e.Now }
func (e Exited) now() protocol.Instant   { return e.Now }
func (e Shutdown) now() protocol.Instant { return e.Now }

// Outcome is how a run ended.
type Outcome uint8

// The outcomes. A run whose ctx had been ended before it returned is stopped, whatever it returned.
const (
	Finished Outcome = iota
	Failed
	Stopped
)

// StopCause is why a run is stopped.
type StopCause uint8

// The causes. For one that is no longer assigned the shell finds out whether it was moved, killed or drained.
const (
	StopUnassigned StopCause = iota
	StopToken                // granted again to this member under another token
	StopChanged              // type or definition changed
	StopTrust
	StopShutdown
)

// String names the cause.
func (c StopCause) String() string {
	return [...]string{"unassigned", "token", "changed", "trust", "shutdown"}[c]
}

// An Effect is what Step wants done, in order. The set is closed.
type Effect interface{ effect() }

type (
	// Start begins a run. There is none of this partition on this member.
	Start struct {
		Grant      protocol.Grant
		Definition *Definition // shared, not to be changed
		First      bool        // no run under this token was started before: the partition has just come
	}
	// Stop ends the ctx of the partition's run, once.
	Stop struct {
		Partition cluster.PartitionID
		Token     cluster.Token
		Cause     StopCause
	}
	// Abandon says, while shutting down, that a run is not waited for any longer.
	Abandon struct {
		Partition cluster.PartitionID
		Token     cluster.Token
	}
	// Report replaces what the protocol knows of this member's runs; at most one per step, the whole present state, sorted by
	// partition. Version is that of the newest assignment taken in.
	Report struct {
		Version uint64
		Reports []protocol.Report
	}
	// Journal writes a record; time and member are added by the shell.
	Journal struct{ Record journal.Record }
	// WakeAt wants a Tick at an instant; it replaces the one before. Zero: no Tick is needed.
	WakeAt struct{ At protocol.Instant }
	// Ended is the last effect: after Shutdown no run is left that is waited for.
	Ended struct{}
)

func (Start) effect()   {}
func (Stop) effect()    {}
func (Abandon) effect() {}
func (Report) effect()  {}
func (Journal) effect() {}
func (WakeAt) effect()  {}
func (Ended) effect()   {}
