package lease

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// pass is what one look of the leader at all documents leads to.
type pass struct {
	f             *facts
	atMS          int64
	name          string // of all writes of the pass
	before, after cluster.Value
	free          []cluster.Free
	byID          map[cluster.PartitionID]*partitionFact
	left          map[cluster.JobID]bool                // jobs of which documents of partitions are left
	first         map[cluster.PartitionID]cluster.Index // of items that were listed: from which their tokens begin
	laid          string                                // see former
	seen          map[string]store.Version              // by key: former.listed
	making        []listing                             // items whose documents the survey has found as being made
	layouts       map[cluster.JobID][]string            // tasks whose shares this pass lays out
	forgotten     cluster.Index                         // the largest index of the jobs that are forgotten now
	late          []cluster.MemberID                    // members that have missed a renewal: others are first
}

// former is what a pass must know of those before it.
type former struct {
	laid   string                     // the pass before, if it has laid out shares
	shares map[cluster.JobID][]string // tasks of which it has laid them out
	listed []listing                  // items that were being made before the survey began; the documents of their windows were read by their keys since
}

// listing is the document of an item that is being made, in a version that was read, or whose write was acknowledged.
type listing struct {
	key     string
	version store.Version
	window  string // key of the document that lists it
}

// newPass makes one. Of old jobs it may not have all partitions.
func newPass(f *facts, atMS int64, name string, was former, old ...cluster.JobID) *pass {
	p := &pass{f: f, atMS: atMS, name: name, laid: was.laid, seen: make(map[string]store.Version, len(was.listed)),
		layouts: make(map[cluster.JobID][]string), byID: make(map[cluster.PartitionID]*partitionFact,
			len(f.partitions)), left: make(map[cluster.JobID]bool), first: make(map[cluster.PartitionID]cluster.Index)}
	for _, l := range was.listed {
		p.seen[l.key] = l.version
	}
	todo := cluster.Pending{Partial: old}
	for _, x := range f.partitions {
		p.byID[x.partition.ID] = x
		job, _, _ := x.partition.ID.Split()
		p.left[job] = true
		if f.current(x) && x.doc.State == listed {
			p.making = append(p.making,
				listing{x.key, f.version(x.key), windowOf(x.partition.ID, x.partition.ListedBy)})
		}
		if !f.current(x) || !x.there() {
			continue
		} else if f.superseded(x) {
			p.laid = "" // a member that read its job earlier may yet claim it
		}
		if j, _ := f.job(job); x.doc.Spec < j.job.SpecIndex {
			todo.Stale = append(todo.Stale, x.partition.ID)
		}
		todo.Said = append(todo.Said, net(x.said)...)
		p.number(x)
	}
	if b, err := read[boardDoc](f.read(keyBoard)); err == nil {
		for _, e := range b.Free {
			todo.Free = append(todo.Free, cluster.Free{Partition: e.Partition, First: e.First})
		}
	}
	p.before = f.value()
	p.after, p.free = p.before.Settle(f.config.Index, atMS, todo)
	for q := range p.after.Partitions() {
		job, task, _ := q.ID.Split()
		if _, was := p.before.Partition(q.ID); q.Count != 0 && !was && !p.mayOffer(job, task) &&
			!slices.Contains(p.layouts[job], task) {
			p.layouts[job] = append(p.layouts[job], task)
		}
	}
	return p
}

// mayOffer tells whether new shares of a task may be written: the document of the job names the pass before, which has
// written none of them. What another layout has offered is void since, also where it is written late, and this pass has
// seen what was claimed of it until then.
func (p *pass) mayOffer(job cluster.JobID, task string) bool {
	j, _ := p.f.job(job)
	return p.laid != "" && j.doc.Layouts[task] == p.laid
}

// number notes from which index the tokens of listed items begin.
func (p *pass) number(x *partitionFact) {
	job, task, _ := x.partition.ID.Split()
	for i, c := range x.said {
		if a, ok := c.(cluster.AdvanceWindow); ok {
			for _, it := range a.Items {
				p.first[cluster.NewPartitionID(job, task, it.Key)] = x.doc.Said[i].Index
			}
		}
	}
}

// net leaves out what a later command takes back: an item that was listed and has been done since must not appear
// again.
func net(said []cluster.Command) []cluster.Command {
	out := slices.Clone(said)
	for i, c := range out {
		a, ok := c.(cluster.AdvanceWindow)
		if !ok {
			continue
		}
		a.Items = slices.DeleteFunc(slices.Clone(a.Items), func(it cluster.Item) bool {
			return slices.ContainsFunc(said[i+1:], func(later cluster.Command) bool {
				b, ok := later.(cluster.AdvanceWindow)
				return ok && slices.Contains(b.Done, it.Key)
			})
		})
		out[i] = a
	}
	return out
}

// keys are the documents that the next pass must not miss, whatever a list shows.
func (p *pass) keys() []string {
	var out []string
	for _, j := range p.f.jobs {
		out = append(out, jobKey(j.job.ID))
	}
	for _, x := range p.f.partitions {
		out = append(out, x.key)
	}
	for x := range p.after.Partitions() {
		if _, there := p.byID[x.ID]; !there {
			out = append(out, partitionKey(x.ID))
		}
	}
	for job, tasks := range p.layouts { // order-free: sorted below
		for _, task := range tasks {
			for m := range p.after.Members() {
				for n := range m.Slots {
					out = append(out, partitionKey(cluster.NewPartitionID(job, task, fmt.Sprintf("%s:%d", m.ID, n+1))))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// writes are what differs between the documents and what follows from them.
func (p *pass) writes() []leadWrite {
	var out []leadWrite
	for _, r := range cluster.Changes(p.before, p.after) {
		switch {
		case r.Job != "":
			out = append(out, p.job(r.Job)...)
		case r.Partition != "":
			out = append(out, p.partition(r.Partition)...)
		}
	}
	for _, x := range p.f.partitions {
		out = append(out, p.rest(x)...)
	}
	for _, j := range p.f.jobs {
		id := j.job.ID
		if p.layouts[id] != nil && !slices.ContainsFunc(out,
			func(w leadWrite) bool { return w.doc.Key == jobKey(id) }) {
			out = append(out, p.job(id)...)
		}
	}
	if s := p.after.Settings(); p.f.config.Forgotten < p.forgotten || s != p.before.Settings() {
		doc := p.f.config
		doc.Forgotten, doc.Settings, doc.Write = max(doc.Forgotten, p.forgotten), s.Encode(), p.name
		out = append(out, leadWrite{doc: p.f.over(keyConfig, doc)})
	}
	return out
}

// job writes a job that has changed. One that is forgotten goes after the documents of its partitions, and when its
// index is known to have been given.
func (p *pass) job(id cluster.JobID) []leadWrite {
	was, _ := p.f.job(id)
	j, ok := p.after.Job(id)
	key := jobKey(id)
	if !ok {
		if p.forgotten = max(p.forgotten, was.doc.Submitted, was.job.SpecIndex); p.left[id] ||
			p.f.config.Forgotten < p.forgotten {
			return nil
		}
		return []leadWrite{{doc: store.Doc{Key: key, Version: p.f.version(key)}, remove: true}}
	}
	doc := jobDoc{
		State: j.State.String(), Submitted: was.doc.Submitted, Layouts: make(map[string]string), Tasks: textsOf(j),
		Job: j.Encode(), Write: p.name,
	}
	for _, t := range j.Spec.Tasks {
		if slices.Contains(p.layouts[id], t.Name) {
			doc.Layouts[t.Name] = p.name
		} else if l := was.doc.Layouts[t.Name]; l != "" {
			doc.Layouts[t.Name] = l
		}
	}
	return []leadWrite{{doc: p.f.over(key, doc)}}
}

// partition writes a partition that has changed, appeared or gone.
func (p *pass) partition(id cluster.PartitionID) []leadWrite {
	key := partitionKey(id)
	job, task, _ := id.Split()
	fact, there := p.byID[id]
	q, ok := p.after.Partition(id)
	if !ok || p.f.problem(key) != nil || there && p.undecided(fact) {
		return nil // see rest
	}
	j, _ := p.f.job(job)
	if !there || !p.f.current(fact) || fact.doc.State == listed {
		if there && fact.doc.Holder != "" && p.f.live(fact.doc.Holder) {
			return p.dropped(fact)
		}
		token := firstToken(max(j.doc.Submitted, p.first[id]))
		if there {
			token = max(token, fact.doc.Token)
		}
		fact = &partitionFact{key: key, partition: cluster.Partition{ID: id},
			doc: partitionDoc{Token: token, Of: j.doc.Submitted}}
	}
	doc := fact.next(p.after, p.f, writer{write: p.name, atMS: p.atMS})
	doc.Spec = j.job.SpecIndex
	if _, was := p.before.Partition(id); q.Count != 0 && !was {
		if p.f.superseded(fact) {
			return []leadWrite{{doc: p.f.over(key, fact.next(p.before, p.f, writer{write: p.name}))}}
		} else if !p.mayOffer(job, task) {
			return nil
		}
		doc.Layout = p.laid
	}
	if q.ListedBy != "" && !there {
		doc.State = listed
		return []leadWrite{{doc: p.f.over(key, doc), window: windowOf(id, q.ListedBy)}}
	}
	return []leadWrite{{doc: p.f.over(key, doc)}}
}

// undecided tells whether an item is being made that was first seen by this survey. A leader that was late may have
// written its document when it was done and gone: what its window says was read before, or at the same time.
func (p *pass) undecided(x *partitionFact) bool {
	return x.doc.State == listed && p.f.current(x) && p.seen[x.key] != p.f.version(x.key)
}

// windowOf is the document of the partition that lists an item.
func windowOf(item cluster.PartitionID, by string) string {
	job, task, _ := item.Split()
	return partitionKey(cluster.NewPartitionID(job, task, by))
}

// dropped tells the holder of a partition of a former submission to stop, if it lives.
func (p *pass) dropped(x *partitionFact) []leadWrite {
	if x.partition.Dropped || x.doc.Holder == "" || !p.f.live(x.doc.Holder) {
		return nil
	}
	return []leadWrite{{doc: p.f.over(x.key, x.next(p.after, p.f, writer{write: p.name}))}}
}

// rest writes the documents of partitions that are not in the value any more, and notes what was carried out.
func (p *pass) rest(x *partitionFact) []leadWrite {
	job, _, _ := x.partition.ID.Split()
	_, there := p.after.Partition(x.partition.ID)
	switch {
	case p.undecided(x):
		return nil
	case there && p.f.current(x):
		return p.carriedOut(x)
	case there: // of a former submission
		return p.dropped(x)
	}
	j, ok := p.f.job(job)
	item := x.partition.ListedBy != "" // they are too many to keep
	if !ok || j.job.State != cluster.JobRunning || !p.f.current(x) || item {
		return []leadWrite{{doc: store.Doc{Key: x.key, Version: p.f.version(x.key)}, remove: true}}
	}
	if x.doc.State == gone {
		return nil // it keeps the token for as long as its job lives
	}
	return []leadWrite{{doc: p.f.over(x.key, x.next(p.after, p.f, writer{write: p.name}))}}
}

// carriedOut forgets commands whose consequences are in the documents, and notes that a partition has seen the present
// spec.
func (p *pass) carriedOut(x *partitionFact) []leadWrite {
	job, _, _ := x.partition.ID.Split()
	j, _ := p.f.job(job)
	spec, left := j.job.SpecIndex, p.unsettled(x)
	if left == len(x.said) && x.doc.Spec >= spec || p.changed(x.partition.ID) {
		return nil
	}
	doc := x.doc
	doc.Said, doc.Spec, doc.Write = doc.Said[len(x.said)-left:], spec, p.name
	return []leadWrite{{doc: p.f.over(x.key, doc)}}
}

// changed tells whether the pass writes the document for another reason.
func (p *pass) changed(id cluster.PartitionID) bool {
	a, _ := p.before.Partition(id)
	b, _ := p.after.Partition(id)
	return string(a.Encode()) != string(b.Encode())
}

// unsettled is how many of the last commands have yet to be carried out.
func (p *pass) unsettled(x *partitionFact) int {
	job, task, _ := x.partition.ID.Split()
	there := func(key string) bool {
		f, ok := p.byID[cluster.NewPartitionID(job, task, key)]
		return ok && f.there() && p.f.current(f)
	}
	for i, c := range net(x.said) {
		var wanted []string
		switch c := c.(type) {
		case cluster.SplitPartition:
			for _, ch := range c.Children {
				wanted = append(wanted, ch.Key)
			}
		case cluster.AdvanceWindow:
			for _, it := range c.Items {
				wanted = append(wanted, it.Key)
			}
			if slices.ContainsFunc(c.Done, there) {
				return len(x.said) - i
			}
		}
		if slices.ContainsFunc(wanted, func(k string) bool { return !there(k) }) {
			return len(x.said) - i
		}
	}
	return 0
}

// instead is a member that is first in place of one that is late: another one for each n, if there is one. It may not
// be fit for all; then it is refused, and what is free is for all in the end.
func (p *pass) instead(first cluster.MemberID, n int) cluster.MemberID {
	if !slices.Contains(p.late, first) {
		return first
	}
	var others []cluster.MemberID
	for _, m := range p.f.members {
		if m.State == cluster.MemberJoined && !m.Draining && !slices.Contains(p.late, m.ID) {
			others = append(others, m.ID)
		}
	}
	if len(others) == 0 {
		return first
	}
	return others[n%len(others)]
}

// maxBoard bounds what the board lists: what does not fit comes when the first of it was claimed.
const maxBoard = 1000

// board tells what may be claimed, as it is in the documents that the pass has read, and what is to be given up.
func (p *pass) board() boardDoc {
	b := boardDoc{Index: p.f.nodes.Index}
	for _, j := range p.f.jobs {
		if j.job.State == cluster.JobRunning && j.job.SpecIndex > j.doc.Submitted {
			b.Specs = max(b.Specs, j.job.SpecIndex)
		}
	}
	for _, e := range p.free {
		x, ok := p.byID[e.Partition]
		if !ok || x.doc.State != outstanding || len(b.Free) == maxBoard {
			continue // its document is being made
		}
		if was, ok := p.before.Partition(e.Partition); ok && (was.State == cluster.PartitionWaiting || was.Offered) {
			if !was.Offered {
				e.First = p.instead(e.First, len(b.Free))
			}
			b.Free = append(b.Free, boardFree{Partition: e.Partition, Token: x.doc.Token, First: e.First,
				Only: was.Offered, Slot: was.Slot})
		}
	}
	for q := range p.after.Partitions() {
		owner, _ := p.after.Member(q.Owner) // unless it leaves, it gives up nothing for one that is late: see instead
		if x, ok := p.byID[q.ID]; ok && q.State == cluster.PartitionReleasing && x.doc.Holder != "" &&
			len(b.Stop) < maxBoard && (owner.Draining || !slices.Contains(p.late, q.Next)) {
			b.Stop = append(b.Stop, boardStop{q.ID, x.doc.Token})
		}
	}
	return b
}
