package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/contract"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// oracle sees all and checks what was promised, after every event.
type oracle struct {
	w     *world
	truth machine.Truth   // of documents; nil where they mean nothing
	ref   cluster.Value   // what the store says, as its content is acknowledged
	refs  []cluster.Value // the newest values, by index

	parts map[cluster.PartitionID]*part
	done  map[runID]bool // runs that really ended well
	last  map[cluster.WriterID]repeats
	held  map[heldLife]int64 // when a hold began, true time

	doomed bool // the history was rewritten: members must end
	// tells is the entry that shows each of them by its chain that the history was rewritten; 0 where none does. It is
	// the second one behind all that was lost: where indexes have gaps, the first one may follow an index that was
	// never read.
	tells cluster.Index
}

// part is what was seen of one partition.
type part struct {
	token  cluster.Token // the largest that it has been given, or is to get
	owned  cluster.Token // the largest under which it had an owner
	act    cluster.Token // the largest under which its resource was changed
	state  cluster.PartitionState
	runs   []*run                      // that have not ended
	failed *run                        // the newest run that failed
	listed map[cluster.PartitionID]int // how often it has listed each item, as a partitioner
}

// part finds what was seen of a partition.
func (o *oracle) part(id cluster.PartitionID) *part {
	p := o.parts[id]
	if p == nil {
		p = &part{}
		o.parts[id] = p
	}
	return p
}

type runID struct {
	partition cluster.PartitionID
	token     cluster.Token
}

// holdTime is for how long grants are kept for a member that announced its restart.
const holdTime = time.Minute

// heldLife is one life of a member. The incarnation alone is not enough: one epoch joins several members under one
// index.
type heldLife struct {
	member      cluster.MemberID
	incarnation cluster.Incarnation
}

// refsKept is more than any living member lags behind; one that lags further reads a snapshot, whose digest is checked
// too when it is known.
const refsKept = 4096

func newOracle(w *world) *oracle {
	o := &oracle{w: w, parts: map[cluster.PartitionID]*part{}, done: map[runID]bool{},
		last: map[cluster.WriterID]repeats{}, held: map[heldLife]int64{}}
	if w.machine.Truth != nil {
		o.truth = w.machine.Truth()
	}
	return o
}

func (o *oracle) violate(promise, what string, args ...any) {
	if r := &o.w.result; r.Violation == nil {
		r.Violation = &Violation{Seed: r.Seed, Event: r.Events, At: o.w.now, Promise: promise,
			What: fmt.Sprintf(what, args...)}
	}
}

// appended takes in an entry that the store has acknowledged, or will.
func (o *oracle) appended(rec store.Record) {
	if o.w.machine.Fold == nil {
		return
	}
	c, err := o.w.machine.Fold(o.ref, rec)
	if err != nil {
		if !o.doomed {
			o.violate("G7", "entry %d ends all members, though no newer Rota has written: %v", rec.Index, err)
		}
		return
	}
	o.took(c)
}

// took holds a change of the value to what was promised.
func (o *oracle) took(c machine.Change) {
	before := o.ref
	o.ref = c.After
	if c.Entry != nil && !o.doomed {
		o.apply(&before, *c.Entry, c.Done)
	}
	if o.truth == nil { // else no member has a value of the same index
		o.refs = append(o.refs, o.ref)
	}
	if len(o.refs) > 2*refsKept {
		o.refs = slices.Clone(o.refs[refsKept:])
	}
	o.grants()
}

// apply holds an entry to the contracts of its commands.
func (o *oracle) apply(before *cluster.Value, e cluster.Entry, done cluster.Applied) {
	if why := contract.Broken(before, &o.ref, e, done); why != "" {
		o.violate("G1", "entry %d: %s", e.Index, why)
	}
	if e.Writer == poisoner && (done.Foreign == "" || o.ref.Digest() != before.Digest()) {
		o.violate("G1", "entry %d, of another history, counts: %+v", e.Index, done)
	}
	o.said(before, e, done)
	o.again(e)
	o.w.client.applied(e, done)
}

// again: a writer that does not learn what became of its entry appends it once more, not for ever.
func (o *oracle) again(e cluster.Entry) {
	r := o.last[e.Writer]
	if r.Times++; r.Seq != e.Seq {
		r = repeats{Seq: e.Seq}
	}
	if o.last[e.Writer] = r; r.Times > mostRepeats {
		o.violate("G9", "%s has appended its entry number %d for %d times", e.Writer, e.Seq, r.Times)
	}
}

// repeats counts how often a writer's newest entry came again.
type repeats struct {
	Seq   uint64
	Times int
}

// mostRepeats is more than lost answers, doubled requests and late writes make of one entry.
const mostRepeats = 100

// grants is G1: tokens grow. That there is one owner is how the value is made.
func (o *oracle) grants() {
	if o.doomed { // with the tail the tokens that stood in it are lost
		return
	}
	for p := range o.ref.Partitions() {
		seen := o.part(p.ID)
		for _, t := range []cluster.Token{p.Token, p.NextToken} {
			switch {
			case t > seen.token:
				seen.token = t
				o.w.result.Moves++
			case t != 0 && t < seen.token && t != p.Token:
				o.violate("G1", "%s was given token %d after token %d", p.ID, t, seen.token)
			}
		}
		if p.Owner != "" && !p.Offered {
			if p.Token < seen.owned {
				o.violate("G1", "%s belongs to %s under token %d, after token %d", p.ID, p.Owner, p.Token, seen.owned)
			}
			seen.owned = p.Token
		}
		if p.State == cluster.PartitionFinished && seen.state != p.State && !o.done[runID{p.ID, p.Token}] {
			o.violate("G6", "%s counts as done under token %d, but no run under it ended well", p.ID, p.Token)
		}
		seen.state = p.State
	}
}

// applied is G7: equal index, equal bytes.
func (o *oracle) applied(p *process, v cluster.Value) {
	if o.doomed || v.Chain() == 0 { // it is an excerpt
		return
	}
	if r, ok := o.at(v.Index()); ok && (r.Chain() != v.Chain() || r.Digest() != v.Digest()) {
		o.violate("G7", "%s has another value at index %d: digest %s, chain %s, not %s, %s",
			p.name, r.Index(), v.Digest(), v.Chain(), r.Digest(), r.Chain())
	}
}

// at is the value of an index in the history that the log has now, if it is kept.
func (o *oracle) at(index cluster.Index) (v cluster.Value, ok bool) {
	i, ok := slices.BinarySearchFunc(o.refs, index,
		func(v cluster.Value, index cluster.Index) int { return cmp.Compare(v.Index(), index) })
	if ok {
		v = o.refs[i]
	}
	return v, ok
}

// exclusive: a slot of a member runs one thing at a time.
func (o *oracle) exclusive(r *run) {
	if r.slot == 0 || o.doomed {
		return
	}
	for _, other := range r.p.runs {
		if other.slot == r.slot && !other.over {
			o.violate("G2", "%s starts %s in slot %d, where %s runs", r.p.name, r.partition, r.slot, other.partition)
		}
	}
}

// started is G2 and at-most-one: nobody else runs the partition now, unless what runs there was suspended, or ignores
// its cancel although its member has lost its lease.
func (o *oracle) started(r *run) {
	o.exclusive(r)
	o.shared(r)
	o.paced(r)
	if r.p.kept[runID{r.partition, r.token}] {
		o.violate("G6", "%s begins %s again under token %d, under which it was done there", r.p.name,
			r.partition, r.token)
	}
	p := o.part(r.partition)
	for _, other := range p.runs {
		if other.p == r.p {
			o.violate("G2", "%s started on %s under token %d while it runs there under token %d",
				r.partition, r.p.name, r.token, other.token)
			continue
		}
		if r.handover != cluster.HandoverAtMostOne || other.handover != cluster.HandoverAtMostOne || o.doomed {
			continue
		}
		if !other.p.paused && other.p.leased() {
			o.violate("G2", "%s started on %s under token %d while it runs on %s under token %d, whose lease is valid for another %s",
				r.partition, r.p.name, r.token, other.p.name, other.token,
				other.p.taken.ValidUntil.Sub(other.p.clock.at(o.w.now)))
		}
	}
	o.w.note("%s starts %s under token %d", r.p.label(), r.partition, r.token)
	p.runs = append(p.runs, r)
}

// together tells whether two shares were given out together: by one entry of the log or, where members claim them one
// by one, as other parts of as many.
func (o *oracle) together(a, b *run) bool {
	if o.w.machine.Fold != nil {
		return a.token == b.token
	}
	return a.partition == b.partition || a.count == b.count && a.index != b.index
}

// shared: no two runs of a task that is repartitioned have another number of shares. As everywhere, what is suspended
// or ignores its cancel is excused.
func (o *oracle) shared(r *run) {
	if r.count == 0 || o.doomed {
		return
	}
	job, task, _ := r.partition.Split()
	for id, p := range o.parts { // order-free: one that is broken is enough
		if j, t, _ := id.Split(); j != job || t != task {
			continue
		}
		for _, other := range p.runs {
			if other.count != 0 && !o.together(r, other) && !other.p.paused && other.p.leased() {
				o.violate("G2", "%s starts on %s as one of %d, and %s runs on %s as one of %d", r.partition,
					r.p.name, r.count, id, other.p.name, other.count)
			}
		}
	}
}

// paced: the runs of a type at once stay within its bound, and a run that failed is not begun again before its back-off
// is over.
func (o *oracle) paced(r *run) {
	n := 0
	for _, other := range r.p.runs {
		if other.kind == r.kind && !other.over {
			n++
		}
	}
	for _, t := range taskTypes {
		if t.Name == r.kind && t.MaxRuns > 0 && n >= t.MaxRuns {
			o.violate("max_runs", "%s starts %s beside %d other runs of its type, of which there may be %d",
				r.p.name, r.partition, n, t.MaxRuns)
		}
	}
	last := o.part(r.partition).failed
	if last == nil || last.p != r.p || last.token != r.token || r.attempt == 0 {
		return
	}
	if pause := time.Duration(o.w.now - last.ended); pause < shortestBackOff(r.attempt) {
		o.violate("back-off", "%s begins %s again %s after its failure number %d", r.p.name, r.partition,
			pause, r.attempt)
	}
}

// shortestBackOff is half of what the shortest definition asks for after so many failures, less what a clock may be
// wrong: chance takes away up to half.
func shortestBackOff(failures int64) time.Duration {
	d := shortestRetry
	for i := int64(1); i < failures && d < longestRetry; i++ {
		d *= 2
	}
	return min(d, longestRetry) / 2 * 9 / 10
}

func (o *oracle) ended(r *run) {
	r.over = true
	o.w.note("%s ends %s under token %d", r.p.label(), r.partition, r.token)
	p := o.part(r.partition)
	p.runs = slices.DeleteFunc(p.runs, func(x *run) bool { return x == r })
	for _, x := range p.runs {
		if x.p != r.p && x.handover == cluster.HandoverAtMostOne {
			o.w.result.Overlap = max(o.w.result.Overlap, time.Duration(o.w.now-max(x.began, r.began)))
		}
	}
}

// acted is G3 as the resource sees it: it refuses smaller tokens. A member that holds a lease is never refused under
// at-most-one, for then somebody else has begun while it had a right to act.
func (o *oracle) acted(r *run) {
	p := o.part(r.partition)
	if r.token < p.act {
		o.w.result.Refused++
		if r.handover == cluster.HandoverAtMostOne && !o.doomed {
			o.violate("G3", "%s acted on %s under token %d, under a valid lease, after an act under token %d",
				r.p.name, r.partition, r.token, p.act)
		}
		return
	}
	p.act = r.token
}

// halted: a member may end itself only where the history was rewritten or is of a newer format, or its name is taken.
func (o *oracle) halted(p *process, err error) {
	var taken *protocol.NameTakenError
	if o.doomed || errors.As(err, &taken) && o.w.names[p.name] > 1 {
		return
	}
	o.violate("G9", "%s ended itself: %v", p.name, err)
}

// said holds what members say in an entry against what is so.
func (o *oracle) said(before *cluster.Value, e cluster.Entry, done cluster.Applied) {
	for i, c := range e.Commands {
		if !done.Results[i].Accepted {
			continue
		}
		switch c := c.(type) {
		case cluster.Stopped: // what has stopped under a token does not run under it
			for _, r := range o.part(c.Partition).runs {
				if r.token == c.Token {
					o.violate("G2", "entry %d: %s has stopped under token %d, and it runs on %s", e.Index,
						c.Partition, c.Token, r.p.name)
				}
			}
		case cluster.Epoch: // no more starts of the group are counted than there were
			if n := o.w.disk.room.forgotten; c.Start > 1+n {
				o.violate("G1", "entry %d: %v counts start %d of the group, which was forgotten %d times",
					e.Index, c, c.Start, n)
			}
		case cluster.AdvanceWindow:
			o.window(before, c)
		case cluster.LeaveCluster:
			if m, ok := o.ref.Member(c.Member); ok && m.State == cluster.MemberHeld {
				o.held[heldLife{m.ID, m.Incarnation}] = o.w.now
			}
		case cluster.ReleaseHold: // what is held for a member is not given away before its time, by any clock
			began, ok := o.held[heldLife{c.Member, c.Incarnation}]
			if early := int64(holdTime) * 1000 / (1000 + o.w.plan.rho); ok && o.w.now-began < early {
				o.violate("G8", "what is held for %s was given away after %s", c.Member, time.Duration(o.w.now-began))
			}
		}
	}
}

// window: each number is listed once, and goes after a run of it has really ended well.
func (o *oracle) window(before *cluster.Value, c cluster.AdvanceWindow) {
	job, task, key := c.Partition.Split()
	p := o.part(c.Partition)
	if c.Step == 0 { // the first of a life of the job
		p.listed = map[cluster.PartitionID]int{}
	}
	for _, it := range c.Items {
		id := cluster.NewPartitionID(job, task, it.Key)
		if p.listed[id]++; p.listed[id] > 1 {
			o.violate("G6", "%s has listed %s twice", key, id)
		}
	}
	if next, _ := strconv.Atoi(string(c.Cursor)); next != len(p.listed) {
		o.violate("G5", "%s is at %d and has listed %d", c.Partition, next, len(p.listed))
	}
	for _, k := range c.Done {
		if p, _ := before.Partition(cluster.NewPartitionID(job, task, k)); !o.done[runID{p.ID, p.Token}] {
			o.violate("G6", "%s was taken out under token %d, and no run under it has ended well", p.ID, p.Token)
		}
	}
}
