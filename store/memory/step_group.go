package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/store"
)

// Group is the state machine of one group, as a value: Step does not change its receiver. Calls have numbers, and are
// answered by number, at once or by a later step. The shell of [Store] feeds it, and so does a simulator.
type Group struct {
	phase      groupPhase
	generation uint64
	leader     string
	members    []groupMember // in the order of their admission
	admitted   uint64        // IDs given so far
	until      time.Duration // of forming: when it ends without those who have not joined; of completing: likewise for Sync
	synced     *Group        // the last generation that is a fact; nil: none
	delay      time.Duration
	opening    bool // nobody was in: others have the delay to join
}

// NewGroup returns an empty group. An empty group waits for delay after its first Join, so that others can be in the
// same generation.
func NewGroup(delay time.Duration) Group { return Group{delay: delay} }

type groupPhase int

const (
	groupEmpty      groupPhase = iota
	groupForming               // waits for members to join
	groupCompleting            // waits for the leader to sync
	groupStable
)

type groupMember struct {
	id                 string
	data, given        []byte
	session, rebalance time.Duration
	heard              time.Duration
	join, sync         uint64 // the calls that wait; 0: none
}

// GroupCall is one request, of the kind whose field is set. Call is greater than zero and used once.
type GroupCall struct {
	Call  uint64
	Join  *store.JoinRequest
	Sync  *store.Seat
	Give  []store.GroupMember // with Sync
	Beat  *store.Seat
	Leave string
	// Fail is the death of the server of the group: pending calls are answered with ErrUnknown, and a generation that
	// is not a fact is forgotten.
	Fail bool
	// Forget makes the store forget an empty group.
	Forget bool
}

// GroupAnswer is the answer to the call of that number.
type GroupAnswer struct {
	Call       uint64
	Membership store.Membership
	Given      []byte
	Err        error
}

// Step handles one request, or none, at a time that never goes back. It handles expired deadlines first.
func (g Group) Step(at time.Duration, c GroupCall) (Group, []GroupAnswer) {
	t := groupTurn{Group: g, at: at}
	t.members = slices.Clone(g.members)
	t.expire()
	switch {
	case c.Join != nil:
		t.joinCall(c.Call, *c.Join)
	case c.Sync != nil:
		t.syncCall(c.Call, *c.Sync, c.Give)
	case c.Beat != nil:
		t.answer(GroupAnswer{Call: c.Call, Err: t.beat(*c.Beat)})
	case c.Leave != "":
		t.remove(t.find(c.Leave))
		t.answer(GroupAnswer{Call: c.Call})
	case c.Fail:
		t.fail()
	case c.Forget && t.phase == groupEmpty:
		t.Group = Group{delay: t.delay, admitted: t.admitted}
	}
	return t.Group, t.answers
}

// String returns the whole state except the times of the last requests of members.
func (g Group) String() string {
	out := fmt.Sprintf("%s %d leader %q admitted %d", [...]string{"empty", "forming", "completing", "stable"}[g.phase],
		g.generation, g.leader, g.admitted)
	for _, m := range g.members {
		out += fmt.Sprintf("; %s %q given %q joins %t syncs %t", m.id, m.data, m.given, m.join != 0, m.sync != 0)
	}
	if g.synced != nil {
		out += " | " + g.synced.String()
	}
	return out
}

// Deadline returns when the group changes without a request. The caller must call Step without a request then.
func (g Group) Deadline() (time.Duration, bool) {
	var times []time.Duration
	if g.phase == groupForming || g.phase == groupCompleting {
		times = append(times, g.until)
	}
	for _, m := range g.members {
		if !m.waits() {
			times = append(times, m.heard+m.session)
		}
	}
	if len(times) == 0 {
		return 0, false
	}
	return slices.Min(times), true
}

// Waiting is the member whose Join waits under that number, or "".
func (g Group) Waiting(call uint64) string {
	for _, m := range g.members {
		if m.join == call && call != 0 {
			return m.id
		}
	}
	return ""
}

// groupTurn is one step.
type groupTurn struct {
	Group
	at      time.Duration
	answers []GroupAnswer
}

func (t *groupTurn) answer(a GroupAnswer) {
	if a.Call != 0 {
		t.answers = append(t.answers, a)
	}
}

// find is the place of a member; -1: there is none.
func (g Group) find(id string) int {
	return slices.IndexFunc(g.members, func(m groupMember) bool { return m.id == id })
}

func (m groupMember) waits() bool { return m.join != 0 || m.sync != 0 }

// expire removes the silent, and ends waits that took too long.
func (t *groupTurn) expire() {
	for i := len(t.members) - 1; i >= 0; i-- {
		if m := t.members[i]; !m.waits() && t.at >= m.heard+m.session {
			t.remove(i)
		}
	}
	switch {
	case t.phase == groupForming && t.at >= t.until:
		t.members = slices.DeleteFunc(t.members, func(m groupMember) bool { return m.join == 0 })
		t.complete()
	case t.phase == groupCompleting && t.at >= t.until:
		t.members = slices.DeleteFunc(t.members, func(m groupMember) bool { return m.sync == 0 })
		t.form()
	}
}

// remove takes a member out, which begins a new generation; i < 0: nobody.
func (t *groupTurn) remove(i int) {
	if i < 0 {
		return
	}
	m := t.members[i]
	t.answer(GroupAnswer{Call: m.join, Err: store.ErrSession})
	t.answer(GroupAnswer{Call: m.sync, Err: store.ErrSession})
	t.members = slices.Delete(t.members, i, i+1)
	t.form()
}

func (t *groupTurn) joinCall(call uint64, r store.JoinRequest) {
	i := t.find(r.ID)
	switch {
	case r.ID == "":
		t.admitted++
		i = len(t.members)
		t.members = append(t.members, groupMember{id: "m" + strconv.FormatUint(t.admitted, 10)})
	case i < 0:
		t.answer(GroupAnswer{Call: call, Err: store.ErrSession})
		return
	case t.settled(i) && bytes.Equal(t.members[i].data, r.Data): // its answer was lost, or it needs no new generation
		t.members[i].heard = t.at
		t.answer(GroupAnswer{Call: call, Membership: t.membership(t.members[i].id)})
		return
	}
	m := &t.members[i]
	t.answer(GroupAnswer{Call: m.join, Err: store.ErrRebalance})
	t.answer(GroupAnswer{Call: m.sync, Err: store.ErrRebalance})
	m.data, m.session, m.rebalance, m.heard, m.join, m.sync = bytes.Clone(r.Data), r.Session, r.Rebalance, t.at, call, 0
	t.form()
}

// settled says that a Join of a known member is answered with the present generation. Only a leader begins a new one
// without need.
func (t *groupTurn) settled(i int) bool {
	return t.phase == groupCompleting || t.phase == groupStable && t.members[i].id != t.leader
}

// form begins to wait for joins, if the group does not, and ends it if all are there.
func (t *groupTurn) form() {
	if t.phase != groupForming {
		t.until = t.at + t.patience()
		if t.opening = t.phase == groupEmpty; t.opening {
			t.until = t.at + t.delay
		}
		t.phase = groupForming
	}
	for i := range t.members {
		t.answer(GroupAnswer{Call: t.members[i].sync, Err: store.ErrRebalance})
		t.members[i].sync = 0
	}
	joined := !slices.ContainsFunc(t.members, func(m groupMember) bool { return m.join == 0 })
	if delayed := t.opening && t.at < t.until && len(t.members) > 0; joined && !delayed {
		t.complete()
	}
}

// patience is the longest time that a member wants to be waited for.
func (g Group) patience() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.rebalance)
	}
	return longest
}

// complete makes a generation of those who have joined.
func (t *groupTurn) complete() {
	t.generation++
	if t.phase = groupCompleting; len(t.members) == 0 {
		t.phase, t.leader = groupEmpty, ""
		t.keep()
		return
	}
	if t.find(t.leader) < 0 {
		t.leader = t.members[0].id
	}
	t.until = t.at + t.patience()
	for i := range t.members {
		m := &t.members[i]
		t.answer(GroupAnswer{Call: m.join, Membership: t.membership(m.id)})
		m.join, m.heard, m.given = 0, t.at, nil
	}
}

func (g Group) membership(id string) store.Membership {
	m := store.Membership{Seat: store.Seat{ID: id, Generation: g.generation}, Leader: g.leader}
	if !m.Leads() {
		return m
	}
	for _, other := range g.members {
		m.Members = append(m.Members, store.GroupMember{ID: other.id, Data: bytes.Clone(other.data)})
	}
	slices.SortFunc(m.Members, byID)
	return m
}

func byID(a, b store.GroupMember) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) }

// seat finds the member of a seat, or says why it is not there.
func (g Group) seat(s store.Seat) (int, error) {
	i := g.find(s.ID)
	switch {
	case i < 0:
		return -1, store.ErrSession
	case s.Generation != g.generation:
		return -1, store.ErrGeneration
	}
	return i, nil
}

func (t *groupTurn) syncCall(call uint64, s store.Seat, give []store.GroupMember) {
	i, err := t.seat(s)
	if err == nil && t.phase == groupForming {
		err = store.ErrRebalance
	}
	if err != nil {
		t.answer(GroupAnswer{Call: call, Err: err})
		return
	}
	m := &t.members[i]
	t.answer(GroupAnswer{Call: m.sync, Err: store.ErrRebalance})
	m.sync, m.heard = call, t.at
	if t.phase == groupCompleting && m.id != t.leader {
		return
	}
	if t.phase == groupCompleting {
		t.distribute(give)
	}
	t.handOut()
}

// distribute makes the generation a fact.
func (t *groupTurn) distribute(give []store.GroupMember) {
	for _, g := range give {
		if i := t.find(g.ID); i >= 0 {
			t.members[i].given = bytes.Clone(g.Data)
		}
	}
	t.phase = groupStable
	t.keep()
}

// handOut answers those who wait for what they are given.
func (t *groupTurn) handOut() {
	for i := range t.members {
		if m := &t.members[i]; m.sync != 0 {
			t.answer(GroupAnswer{Call: m.sync, Given: bytes.Clone(m.given)})
			m.sync, m.heard = 0, t.at
		}
	}
}

// keep notes the state as a fact.
func (t *groupTurn) keep() {
	kept := t.Group
	kept.members = slices.Clone(t.members)
	for i := range kept.members {
		kept.members[i].sync = 0
	}
	kept.synced = nil
	t.synced = &kept
}

func (t *groupTurn) beat(s store.Seat) error {
	i, err := t.seat(s)
	if err != nil {
		return err
	}
	t.members[i].heard = t.at
	if t.phase == groupForming {
		return store.ErrRebalance
	}
	return nil
}

// fail goes back to the last fact. IDs that were given are not given again.
func (t *groupTurn) fail() {
	for _, m := range t.members {
		t.answer(GroupAnswer{Call: m.join, Err: store.ErrUnknown})
		t.answer(GroupAnswer{Call: m.sync, Err: store.ErrUnknown})
	}
	kept := Group{delay: t.delay}
	if t.synced != nil {
		kept = *t.synced
	}
	kept.admitted, kept.synced = t.admitted, t.synced
	kept.members = slices.Clone(kept.members)
	for i := range kept.members {
		kept.members[i].heard = t.at
	}
	t.Group = kept
}
