package work

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Events are optional callbacks for metrics and witnesses. They are called from any goroutine and must return quickly.
type Events struct {
	Started   func(RunStarted)
	Stopped   func(RunStopped)
	RoundDone func(RoundDone)
	Frozen    func(Frozen)
}

// RunStarted reports that a run begins; it is called before the Runner is.
type RunStarted struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Type      string
	At        protocol.Instant
	Grant     *protocol.Grant // under which it runs, with the former owner: a value that a member has may be older
	// First is false if a run under this token was started before: a restart after a failure, a change, or an expired lease. A move is
	// journaled at the first run.
	First bool
}

// RunStopped reports that a run has ended; it is called after the Runner has returned.
type RunStopped struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Type      string
	At        protocol.Instant
	Until     protocol.Instant // when it ran for the last time: At, or before it where the process was suspended in between
	RanFor    time.Duration
	Outcome   Outcome
	Cause     error  // stopped: why; one of the Cause errors
	Message   string // failed: why
}

// RoundDone reports the end of a round of a periodic partition.
type RoundDone struct {
	Partition cluster.PartitionID
	Token     cluster.Token
	Type      string
	Lateness  time.Duration // from the due time to the actual start
	Took      time.Duration
	Err       error // nil if it succeeded or was stopped
}

func (e Events) started(r RunStarted) {
	if e.Started != nil {
		e.Started(r)
	}
}

func (e Events) stopped(r RunStopped) {
	if e.Stopped != nil {
		e.Stopped(r)
	}
}

// Frozen reports that the process was suspended, or had no processor: nothing ran here between two instants. It precedes the events that follow from that.
type Frozen struct{ From, To protocol.Instant }

func (e Events) frozen(f Frozen) {
	if e.Frozen != nil {
		e.Frozen(f)
	}
}

func (e Events) roundDone(r RoundDone) {
	if e.RoundDone != nil {
		e.RoundDone(r)
	}
}
