package call

import (
	"encoding/json"
	"fmt"
)

// event is a possible event of a call. The set is closed.
type event interface{ event() }

type (
	// claim starts a run: of a queued call, or of one whose runner is gone.
	claim struct {
		By Runner
		// Unbegun reports that the runner in the record is this very member, and that the run never began there.
		Unbegun bool
	}
	// finish ends a run with a result.
	finish struct{ Result json.RawMessage }
	// fail ends a run with an error. Final: no further attempt helps.
	fail struct {
		ID       string // of the call
		Error    string
		TimedOut bool
		Final    bool
	}
	// release returns a running call: the member that ran it cannot continue.
	release struct{}
	// requestCancel ends a queued call, and asks the runner of a running call to stop.
	requestCancel struct{}
)

func (claim) event()         {}
func (finish) event()        {}
func (fail) event()          {}
func (release) event()       {}
func (requestCancel) event() {}

// step applies an event to a call; false if the event has no effect on it. It is the only place that decides the state
// of a call. The headings of this package say who may cause which event.
func step(r Record, id string, e event) (Record, bool) {
	switch e := e.(type) {
	case claim:
		return r.claim(id, e)
	case finish:
		if r.State != Running {
			return r, false
		}
		return r.end(Done, e.Result), true
	case fail:
		if r.State != Running {
			return r, false
		}
		return r.fail(id, e), true
	case release:
		if r.State != Running {
			return r, false
		}
		return r.release(), true
	case requestCancel:
		return r.requestCancel()
	}
	return r, false
}

func (r Record) claim(id string, e claim) (Record, bool) {
	switch {
	case r.State.Final():
		return r, false
	case r.State == Queued:
	case r.Cancel:
		return r.end(Cancelled, nil), true
	case e.Unbegun:
		r.Attempt--
	case r.Attempt >= r.Limits.Attempts:
		lost := fmt.Sprintf("member %s was lost during attempt %d", r.Runner.Member, r.Attempt)
		return r.fail(id, fail{ID: id, Error: lost, Final: true}), true
	}
	r.State, r.Attempt, r.Token, r.BackoffMS, r.Runner = Running, r.Attempt+1, r.Token+1, 0, &e.By
	return r, true
}

// fail decides between one more attempt, the handler, and the end.
func (r Record) fail(id string, e fail) Record {
	r.Error, r.TimedOut = e.Error, e.TimedOut
	switch {
	case r.Cancel:
		return r.end(Cancelled, nil)
	case !e.Final && r.Attempt < r.Limits.Attempts:
		r.State, r.BackoffMS = Queued, r.Limits.backoff(r.Attempt)
		return r
	case r.OnFailure != nil:
		return r.handle(id)
	}
	return r.end(Failed, nil)
}

// handle turns the document into a call of the handler. That is the same write as the end of the call itself, so the
// handler is submitted exactly once, whichever process dies.
func (r Record) handle(id string) Record {
	r.State = Failed
	out := r.outcome()
	arg, err := json.Marshal(Failure{
		Call: id, Function: r.Function, Arg: r.Arg, Error: r.Error, TimedOut: r.TimedOut, Attempts: r.Attempt,
		Member: out.Member,
	})
	if err != nil { // only an argument that is not JSON, which nobody could have submitted
		return r.end(Failed, nil)
	}
	return Record{Format: r.Format, Function: r.OnFailure.Function, Arg: arg, Limits: r.OnFailure.Limits, State: Queued,
		Token: r.Token, Runner: r.Runner, Outcome: &out}
}

func (r Record) release() Record {
	if r.Cancel {
		return r.end(Cancelled, nil)
	}
	r.State, r.Attempt = Queued, r.Attempt-1
	return r
}

// end drops what nobody needs any more.
func (r Record) end(s State, result json.RawMessage) Record {
	r.State, r.Result, r.Arg, r.OnFailure, r.BackoffMS = s, result, nil, nil, 0
	if s == Done {
		r.Error, r.TimedOut = "", false
	}
	return r
}

func (r Record) requestCancel() (Record, bool) {
	_, ended := r.Ended()
	switch {
	case ended, r.State == Running && r.Cancel:
		return r, false
	case r.State == Queued:
		return r.end(Cancelled, nil), true
	}
	r.Cancel = true
	return r, true
}

// backoff is how long a call waits after that many attempts.
func (l Limits) backoff(attempts int64) int64 {
	ms := l.BackoffMS
	for range min(attempts-1, 40) {
		if ms >= l.MaxBackoffMS {
			break
		}
		ms *= 2
	}
	return min(ms, max(l.MaxBackoffMS, l.BackoffMS))
}

// hearing is the set of waiters for the end of a call. It is a value.
type hearing struct {
	ended  bool
	failed bool // there is an error that listeners are told
}

// settle ends it, once. tell: all who listen are to be called.
func (h hearing) settle(failed bool) (next hearing, first, tell bool) {
	if h.ended {
		return h, false, false
	}
	return hearing{ended: true, failed: failed}, true, failed
}

// listen decides when a waiter is called: at once, later, or never.
func (h hearing) listen() (now, later bool) { return h.ended && h.failed, !h.ended }
