package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/machine"
)

// What must be so when all is well for a while.

// evened: no two members differ by more than one partition. Placement counts what is in hand-over where it goes to, and
// so does this. Where a plan is an entry of the log, that is so at any instant; where a leader makes it of documents,
// it is so again soon after the last of them has changed, and where owners share, soon after the last change that they
// have read; and where what runs is pinned, when the operator has asked for it.
func (w *world) evened() {
	bound := time.Duration(0)
	if w.machine.Fold == nil || w.machine.Group {
		bound = w.gapBound(machine.LeaveInOrder)
	}
	if w.client.evens = w.plan.pinned; w.client.evens {
		bound = w.recoveryBound()
	}
	w.within(bound, func() bool { return w.uneven() == "" }, "G8",
		func() string { return "all was well: " + w.uneven() })
}

// shared waits until owners have nothing left to share. Where they do, a join moves nothing at its own index: what it
// asks of them comes when they have read it, and is no movement without a cause. That it ends, within the bound of a
// move, is part of the promise.
func (w *world) shared() {
	if !w.machine.Group {
		return
	}
	bound := w.gapBound(machine.LeaveInOrder)
	for range changesInPeace {
		causes := w.causes()
		if w.until(w.now+int64(bound), func() bool { return unshared(&w.oracle.ref) == "" && w.served() }) ||
			w.broken() {
			return
		}
		if w.causes() == causes {
			break
		}
	}
	w.oracle.violate("G8", "%s after all was well: %s %s", bound, unshared(&w.oracle.ref), w.unserved())
}

// laidOut reports whether the shares of a pool have owners, and none of a former layout is there. A death just before
// all was well may have begun a layout that has moved nothing yet.
func laidOut(v *cluster.Value) bool {
	if _, ok := v.Job("shared"); !ok {
		return true
	}
	there := false
	for p := range v.PartitionsOf("shared") {
		if there = true; p.Dropped || p.Offered || p.Owner == "" {
			return false
		}
	}
	return there
}

// changesInPeace bounds the changes after the last fault: a write that was late for minutes may still change the
// members, and a finished partition the load. Sharing begins again after each.
const changesInPeace = 10

// unshared says what an owner should give away, "" for nothing.
func unshared(v *cluster.Value) string {
	for m := range v.Members() {
		if s := v.Shares(m.ID); len(s) > 0 {
			return fmt.Sprintf("%s has yet to share %s with %q", m.ID, s[0].Partition, s[0].To)
		}
	}
	return ""
}

// uneven says what should be on another member, "" for nothing.
func (w *world) uneven() string {
	ref := w.oracle.ref
	for p := range ref.Partitions() {
		if p.Owner == "" && ref.Why(p.ID).Rule == "claim" {
			return "" // it is free, and counts for whoever claims it next
		}
	}
	load := map[cluster.MemberID]int64{}
	var members []cluster.MemberID
	for m := range ref.Members() {
		if m.State == cluster.MemberJoined && (!m.Revoked || w.lives(m.ID)) { // a dead member that was revoked gets nothing until it is removed
			members = append(members, m.ID)
		}
	}
	for p := range ref.Partitions() {
		load[cmp.Or(p.Next, p.Owner)] += w.weight(p)
	}
	for p := range ref.Partitions() {
		n := w.weight(p)
		if job, _, _ := p.ID.Split(); n == 0 || job == "one" || p.State != cluster.PartitionGranted {
			continue // what spreads over zones may not go anywhere
		}
		for _, m := range members {
			if load[p.Owner] > load[m]+n {
				return fmt.Sprintf("%s, of weight %d, stays on %s, whose load is %d, though that of %s is %d", p.ID, n,
					p.Owner, load[p.Owner], m, load[m])
			}
		}
	}
	return ""
}

// lives tells whether a process of this name is up.
func (w *world) lives(m cluster.MemberID) bool {
	return slices.ContainsFunc(w.processes(alive), func(p *process) bool { return p.name == m })
}

// weight is what a partition adds to the load of its owner; 0 where placement does not look at it, or evens it by
// itself.
func (w *world) weight(p cluster.Partition) int64 {
	job, task, _ := p.ID.Split()
	j, _ := w.oracle.ref.Job(job)
	t, ok := j.Task(task)
	if p.Owner == "" || p.Dropped || p.ListedBy != "" || p.Step > 0 || !ok || t.Spread == cluster.SpreadEvery ||
		t.Spread == cluster.SpreadPool {
		return 0
	}
	return cmp.Or(t.Weight, 100)
}

// drained: what a draining member has goes to others, where there are any.
func (w *world) drained() {
	up := w.processes(func(p *process) bool { return p.joined() && !p.paused })
	if len(up) < 2 {
		return
	}
	c := w.client
	p := pick(w.chance, up)
	c.drains = p.name
	bound := w.recoveryBound()
	drain := func() bool {
		c.propose("drain", cluster.DrainMember{Member: p.name, On: true})
		return w.until(w.now+int64(bound),
			func() bool { return (w.left(p.name) == "" || w.alone(p.name)) && w.served() })
	}
	done := drain()
	if m, ok := w.oracle.ref.Member(p.name); !done && ok && !m.Draining && !w.broken() { // whom was asked has left since: the operator asks again
		done = drain()
	}
	if !done {
		w.oracle.violate("G5", "%s after %s was drained: %s %s", bound, p.name, w.left(p.name), w.unserved())
		return
	}
	c.drains = ""
	w.within(w.recoveryBound(), w.served, "G9",
		func() string { return fmt.Sprintf("%s was drained no more: %s", p.name, w.unserved()) })
}

// alone tells whether there is nobody else to take what a member has.
func (w *world) alone(id cluster.MemberID) bool {
	for m := range w.oracle.ref.Members() {
		if m.ID != id && m.State == cluster.MemberJoined {
			return false
		}
	}
	return true
}

// left says what a draining member still has, "" for nothing.
func (w *world) left(id cluster.MemberID) string {
	m, ok := w.oracle.ref.Member(id)
	if ok && !m.Draining {
		return "it is not draining"
	}
	for p := range w.oracle.ref.OwnedBy(id) {
		if p.Owner == id && (w.weight(p) > 0 || p.ListedBy != "" || p.Step > 0) {
			return fmt.Sprintf("it still has %s, in state %d, %d are in hand-over, the budget is %d", p.ID, p.State,
				w.oracle.ref.InHandover(), w.oracle.ref.Settings().MoveBudget)
		}
	}
	return ""
}

// strayed finds a document that belongs to nobody. It looks again only after a change.
func (w *world) strayed() func() string {
	key, changes, digest := "", -1, w.oracle.ref.Digest()
	return func() string {
		if now := w.oracle.ref.Digest(); changes != w.disk.changes || digest != now {
			key, changes, digest = w.machine.Stray(&w.oracle.ref, w.disk.docs.List("")), w.disk.changes, now
		}
		return key
	}
}

// tidied: nothing that was asked for is forgotten, and nothing is left behind in the store.
func (w *world) tidied() {
	bound := 8 * w.longest()
	w.until(w.late, func() bool { return false }) // what comes after that stays away
	stray := w.strayed()
	w.until(w.now+int64(bound), func() bool { return stray() == "" })
	if w.broken() {
		return
	}
	if key := stray(); key != "" {
		w.oracle.violate("G9", "%s is left over: it belongs to nobody", key)
	}
	if why := w.client.unanswered(w.recoveryBound()); why != "" {
		w.oracle.violate("G5", "%s", why)
	}
	if n := w.oracle.ref.Applied() - w.saved; n > 10*w.plan.snap {
		w.oracle.violate("G9", "nobody has written a snapshot in %d entries, every %d are promised", n, w.plan.snap)
	}
}
