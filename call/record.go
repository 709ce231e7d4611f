package call

import (
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// State is where a call stands.
type State string

// The states. The last three are final: such a document is not written again, only deleted.
const (
	Queued    State = "queued"    // nobody runs it; a member with an idle slot may claim it
	Running   State = "running"   // claimed by Record.Runner
	Done      State = "done"      // Record.Result is its result
	Failed    State = "failed"    // it used up its attempts, or failed for good
	Cancelled State = "cancelled" // somebody cancelled it before it was done
)

// Final tells whether nothing follows this state.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

// format is written into every document; a document of a newer format is left alone.
const format = 1

// Record is what the document of one call says. It is a value: do not change what it points to.
type Record struct {
	Format   int             `json:"v"`
	Function string          `json:"f"`
	Arg      json.RawMessage `json:"arg,omitempty"`
	Limits   Limits          `json:"limits"`
	// OnFailure is run, as what this document goes on to be, when the call has failed.
	OnFailure *Handler `json:"on_failure,omitempty"`
	State     State    `json:"state"`
	// Attempt is how many runs were begun, without those that were handed back.
	Attempt int64 `json:"attempt,omitempty"`
	// Token grows with each claim: it is the fencing token of the run.
	Token uint64 `json:"token,omitempty"`
	// Runner is who claimed it last.
	Runner *Runner `json:"runner,omitempty"`
	// Cancel asks the runner to stop.
	Cancel bool `json:"cancel,omitempty"`
	// BackoffMS is how long a member lets a queued call rest, from when it saw it first.
	BackoffMS int64           `json:"backoff_ms,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	// Error is why the newest attempt failed, TimedOut that it took too long.
	Error    string `json:"error,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	// Outcome is how the call ended, once its handler has its turn in the document.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Runner is one claim.
type Runner struct {
	Member      cluster.MemberID    `json:"member"`
	Incarnation cluster.Incarnation `json:"incarnation"`
	Nonce       string              `json:"nonce"` // of this claim alone, so that the claimer knows its own
}

// Limits bound the runs of a call.
type Limits struct {
	Attempts     int64 `json:"attempts"`
	TimeoutMS    int64 `json:"timeout_ms,omitempty"` // of an attempt; 0: none
	BackoffMS    int64 `json:"backoff_ms,omitempty"` // before the second attempt; doubles with each further one
	MaxBackoffMS int64 `json:"max_backoff_ms,omitempty"`
	ResultBytes  int   `json:"result_bytes"`
}

// Handler is the function that follows a failed call.
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
	Member   cluster.MemberID `json:"member,omitempty"` // who ran it last
}

// Failure is the argument of the function that follows a failed call; see Options.OnFailure.
type Failure struct {
	Call     string           `json:"call"` // its ID
	Function string           `json:"function"`
	Arg      json.RawMessage  `json:"arg,omitempty"` // of the call, as JSON
	Error    string           `json:"error"`
	TimedOut bool             `json:"timed_out,omitempty"`
	Attempts int64            `json:"attempts"`
	Member   cluster.MemberID `json:"member,omitempty"` // who ran it last
}

// Ended is how the call ended; false while it has not.
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
