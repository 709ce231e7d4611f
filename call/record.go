package call

import (
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// State is the state of a call.
type State string

// The states. The last three are final: such a document is only deleted, never written again.
const (
	Queued    State = "queued"    // not running; a member with an idle slot may claim it
	Running   State = "running"   // claimed by Record.Runner
	Done      State = "done"      // Record.Result is its result
	Failed    State = "failed"    // out of attempts, or a permanent error
	Cancelled State = "cancelled" // cancelled before it was done
)

// Final reports whether this state is the last one.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

// format is written into every document; a document of a newer format is left alone.
const format = 1

// Record is the content of a call's document. It is a value: do not change what it points to.
type Record struct {
	Format   int             `json:"v"`
	Function string          `json:"f"`
	Arg      json.RawMessage `json:"arg,omitempty"`
	Limits   Limits          `json:"limits"`
	// OnFailure runs in the same document when the call has failed.
	OnFailure *Handler `json:"on_failure,omitempty"`
	State     State    `json:"state"`
	// Attempt is the number of runs that were begun, without those that were returned.
	Attempt int64 `json:"attempt,omitempty"`
	// Token grows with each claim: it is the fencing token of the run.
	Token uint64 `json:"token,omitempty"`
	// Runner is the last claim.
	Runner *Runner `json:"runner,omitempty"`
	// Cancel asks the runner to stop.
	Cancel bool `json:"cancel,omitempty"`
	// BackoffMS is how long a member lets a queued call wait, from its first observation.
	BackoffMS int64           `json:"backoff_ms,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	// Error is why the newest attempt failed, TimedOut whether it took too long.
	Error    string `json:"error,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	// Outcome is how the call ended, while its handler runs in the document.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Runner is one claim.
type Runner struct {
	Member      cluster.MemberID    `json:"member"`
	Incarnation cluster.Incarnation `json:"incarnation"`
	Nonce       string              `json:"nonce"` // unique to this claim, so that the claimer recognizes it
}

// Limits bound the runs of a call.
type Limits struct {
	Attempts     int64 `json:"attempts"`
	TimeoutMS    int64 `json:"timeout_ms,omitempty"` // of an attempt; 0: none
	BackoffMS    int64 `json:"backoff_ms,omitempty"` // before the second attempt; doubles with each further one
	MaxBackoffMS int64 `json:"max_backoff_ms,omitempty"`
	ResultBytes  int   `json:"result_bytes"`
}

// Handler is the function that runs after a failed call.
type Handler struct {
	Function string `json:"f"`
	Limits   Limits `json:"limits"`
}

// Outcome is how a call ended.
type Outcome struct {
	State    State            `json:"state"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Error    string           `json:"error,omitempty"`
	TimedOut bool             `json:"timed_out,omitempty"`
	Attempts int64            `json:"attempts"`
	Member   cluster.MemberID `json:"member,omitempty"` // the member of the last run
}

// Failure is the argument of the function that runs after a failed call; see Options.OnFailure.
type Failure struct {
	Call     string           `json:"call"` // its ID
	Function string           `json:"function"`
	Arg      json.RawMessage  `json:"arg,omitempty"` // of the call, as JSON
	Error    string           `json:"error"`
	TimedOut bool             `json:"timed_out,omitempty"`
	Attempts int64            `json:"attempts"`
	Member   cluster.MemberID `json:"member,omitempty"` // the member of the last run
}

// Ended returns the outcome of the call; false while it has none.
func (r Record) Ended() (Outcome, bool) {
	switch {
	case r.Outcome != nil:
		return *r.Outcome, true
	case r.State.Final():
		return r.outcome(), true
	}
	return Outcome{}, false
}

func (r Record) outcome() Outcome {
	return Outcome{State: r.State, Result: r.Result, Error: r.Error, TimedOut: r.TimedOut, Attempts: r.Attempt, Member: r.runner().Member}
}

func (r Record) runner() Runner {
	if r.Runner == nil {
		return Runner{}
	}
	return *r.Runner
}

func (r Record) encode() ([]byte, error) {
	r.Format = format
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode call of %s: %w", r.Function, err)
	}
	return b, nil
}

// decode reads a document, whatever its bytes are.
func decode(b []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("decode call: %w", err)
	}
	switch {
	case r.Format != format:
		return Record{}, fmt.Errorf("decode call: format %d: this program knows format %d: run a newer one", r.Format, format)
	case r.State == Running && r.Runner == nil, r.State != Running && r.State != Queued && !r.State.Final():
		return Record{}, fmt.Errorf("decode call: state %q without a meaning", r.State)
	}
	return r, nil
}
