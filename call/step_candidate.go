package call

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

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

// may reports whether the process may claim a call that none of its runs has to do with; unbegun: see Claim.
func (c claimant) may(r Record) (unbegun, ok bool) {
	if r.State == Queued {
		return false, true
	}
	by := r.runner()
	// A claim of this process that it does not know of: it took the claim for lost, and the document came late.
	unbegun = by.Member == c.member && strings.HasPrefix(by.Nonce, c.nonce+"-")
	return unbegun, unbegun || gone(c.value, by)
}

// gone reports whether a claim is of a member that is counted out. The value may be older than the claim, and then it proves nothing.
func gone(v cluster.Value, r Runner) bool {
	if v.Index() < r.Incarnation {
		return false
	}
	m, ok := v.Member(r.Member)
	return !ok || m.Incarnation != r.Incarnation || m.State == cluster.MemberHeld
}
