package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/store"
)

// attempt decides for one run of a call: from the claim until its outcome is written. It is a value; step makes the
// next one.
type attempt struct {
	id      string
	by      Runner
	unbegun bool // see claim
	phase   phase
	call    stored // its last known content in the store
	event   event  // what came of the run
	writing writing
	tries   int
}

type phase uint8

const (
	claiming phase = iota // the claim is being written
	claimed               // it is; whether this member may begin is asked, or the function runs
	ending                // what came of it is being written
	resting               // that did not work
	reading               // and this is looked at, before it is tried again
)

// The effects of an attempt, beside those of a write.
type (
	// confirm asks whether the member's lease is still valid under the incarnation of the claim.
	confirm struct{}
	// perform calls the function.
	perform struct{}
	// unclaimed: the call is not this run's. err is nil where there was nothing to claim.
	unclaimed struct{ err error }
	// told: this is the outcome of the call, and it is in the store.
	told struct {
		event event
		next  Record
	}
	// lost: what came of the run is not to be written any more.
	lost struct{}
)

func (confirm) effect()   {}
func (perform) effect()   {}
func (unclaimed) effect() {}
func (told) effect()      {}
func (lost) effect()      {}

// The answers to these.
type (
	confirmed struct{ valid bool }
	performed struct{ event event }
)

func (confirmed) answer() {}
func (performed) answer() {}

// begin is the first step.
func (a attempt) begin() (attempt, effect) {
	next, ok := step(a.call.Record, a.id, claim{By: a.by, Unbegun: a.unbegun})
	if !ok {
		return a, unclaimed{}
	}
	return a.write(claiming, next, toClaim)
}

func (a attempt) write(p phase, next Record, kind aimKind) (attempt, effect) {
	a.phase, a.writing = p, writing{old: a.call, next: next, aim: aim{kind, a.by.Nonce}}
	return a, a.writing.put()
}

// step handles an answer and returns what to do next; unclaimed, told and lost are the end.
func (a attempt) step(ans answer) (attempt, effect) {
	switch a.phase {
	case claiming, ending:
		w, fx := a.writing.step(ans)
		a.writing = w
		end, ok := fx.(wrote)
		switch {
		case !ok:
			return a, fx
		case a.phase == claiming:
			return a.claimEnded(end)
		}
		return a.endEnded(end)
	case claimed:
		return a.goOn(ans)
	case resting:
		if p, ok := ans.(paused); ok && p.err != nil {
			return a, lost{}
		}
		a.phase = reading
		return a, getCall{}
	}
	return a.reread(ans)
}

func (a attempt) claimEnded(w wrote) (attempt, effect) {
	if w.err != nil {
		return a, unclaimed{w.err}
	}
	a.call = w.call
	if a.call.State != Running { // its runner is gone, and that was the end of it
		return a, told{fail{Error: a.call.Error}, a.call.Record}
	}
	a.phase = claimed
	return a, confirm{}
}

// goOn calls the function. Where the call is not this member's any more before anything was begun, it goes back.
func (a attempt) goOn(ans answer) (attempt, effect) {
	switch ans := ans.(type) {
	case confirmed:
		if ans.valid {
			return a, perform{}
		}
		return a.end(release{})
	case performed:
		return a.end(ans.event)
	}
	return a, lost{}
}

// end writes what came of the run, until the store has taken it or the document is not this run's any more.
func (a attempt) end(e event) (attempt, effect) {
	a.event = e
	a.tries++
	next, ok := step(a.call.Record, a.id, e)
	if !ok || a.call.runner().Nonce != a.by.Nonce {
		return a, lost{}
	}
	return a.write(ending, next, toEnd)
}

func (a attempt) endEnded(w wrote) (attempt, effect) {
	switch {
	case w.err == nil:
		return a, told{a.event, a.writing.next}
	case errors.Is(w.err, store.ErrTooLarge):
		return a.end(fail{ID: a.id, Final: true, Error: "the store does not take the result: " + w.err.Error()})
	case errors.Is(w.err, store.ErrConflict): // a wish to cancel may have come, or somebody else
		a.phase = reading
		return a, getCall{}
	}
	a.phase = resting
	return a, pause{5 * a.tries, w.err}
}

func (a attempt) reread(ans answer) (attempt, effect) {
	g, ok := ans.(got)
	switch {
	case !ok, errors.Is(g.err, store.ErrNotFound):
		return a, lost{}
	case g.err == nil:
		a.call = g.call
	}
	return a.end(a.event)
}

// way is how a function came back.
type way struct {
	result   json.RawMessage
	err      error
	timedOut bool // its time was over
	handed   bool // its member cannot go on
}

// event is what that means for the call.
func (r way) event(id string, l Limits) event {
	switch {
	case r.err == nil && len(r.result) > l.ResultBytes:
		return fail{ID: id, Final: true, Error: fmt.Sprintf("the result has %d bytes, at most %d are allowed: keep it elsewhere and return where, or raise MaxResult", len(r.result), l.ResultBytes)}
	case r.err == nil:
		return finish{Result: r.result}
	case r.timedOut:
		limit := time.Duration(l.TimeoutMS) * time.Millisecond
		return fail{ID: id, TimedOut: true, Final: isPermanent(r.err),
			Error: cut(fmt.Sprintf("took longer than its timeout of %s: %v", limit, r.err))}
	case r.handed:
		return release{}
	}
	return fail{ID: id, Error: cut(r.err.Error()), Final: isPermanent(r.err)}
}

// cut bounds what an error takes of a document.
func cut(s string) string { return safetext.Cut(s, 4<<10) }

// interrupts returns why a run must stop, by what was read of its call; nil if it need not.
func interrupts(now got, nonce string, began bool) error {
	mine := now.err == nil && now.call.runner().Nonce == nonce
	switch {
	case errors.Is(now.err, store.ErrNotFound), now.err == nil && !mine && began:
		return CauseReplaced
	case mine && now.call.Cancel:
		return CauseCancelled
	}
	return nil
}

// listed is a call as a member has listed it, and what the head of its page says, which was read later.
type listed struct {
	Record
	number int
	void   []int
}

// waits reports whether the call is one to run at all.
func (l listed) waits() bool {
	return !l.State.Final() && (l.Token > 0 || !slices.Contains(l.void, l.number))
}

// claimant is the process that may claim.
type claimant struct {
	member cluster.MemberID
	nonce  string // of its start
	value  cluster.Value
}

// may reports whether the process may claim a call that none of its runs has to do with; unbegun: see claim.
func (c claimant) may(r Record) (unbegun, ok bool) {
	if r.State == Queued && !c.chosen(r) {
		return false, false
	}
	if r.State == Queued {
		return false, true
	}
	by := r.runner()
	// A claim of this process that it does not know of: it took the claim for lost, and the document came late.
	unbegun = by.Member == c.member && strings.HasPrefix(by.Nonce, c.nonce+"-")
	return unbegun, unbegun || gone(c.value, by)
}

// chosen reports whether nobody else was chosen who is there to run the call.
func (c claimant) chosen(r Record) bool {
	m, ok := c.value.Member(r.On)
	return !ok || r.On == c.member || m.State != cluster.MemberJoined || m.Draining
}

// gone reports whether a claim is of a member that is counted out. The value may be older than the claim, and then it
// proves nothing.
func gone(v cluster.Value, r Runner) bool {
	if v.Index() < r.Incarnation {
		return false
	}
	m, ok := v.Member(r.Member)
	return !ok || m.Incarnation != r.Incarnation || m.State == cluster.MemberHeld
}
