package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// loader makes a value of the records of a snapshot, which come sorted. What is derived from partitions it collects,
// and builds at the end in the order of its keys. A value of many jobs comes about several times faster than by setting
// one record after the other.
type loader struct {
	draft
	r          *coder
	jobs       []*jobRecord // in order
	at         int          // in jobs, of the last partition
	jobSlab    slab[jobRecord]
	partSlab   slab[partitionRecord]
	classes    map[string]*schedule.Class // by key
	usual      *schedule.Class            // the last one that says nothing but a weight
	owned      map[MemberID][]PartitionID
	grants     map[place][]PartitionID
	spent      []*Partition
	loads      map[place]int64 // number of partitions whose load counts to a member
	waiting    map[*schedule.Class][]PartitionID
	references map[*schedule.Class]int
}

// place is a member and a class of what it has.
type place struct {
	member MemberID
	class  *schedule.Class
}

// slab makes records a few at a time. It makes few, since it is freed as a whole.
type slab[T any] struct{ free []T }

const slabSize = 8

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabSize)
	}
	x := &s.free[0]
	s.free = s.free[1:]
	return x
}

// load reads the records in the order that lets each refer to those before it.
func (d *draft) load(r *coder) {
	r.shared = &shared{}
	l := &loader{
		draft: *d, r: r, classes: make(map[string]*schedule.Class), owned: make(map[MemberID][]PartitionID),
		grants: make(map[place][]PartitionID),
		loads:  make(map[place]int64), waiting: make(map[*schedule.Class][]PartitionID),
		references: make(map[*schedule.Class]int),
	}
	loadSorted(r, func() MemberID {
		var m Member
		codeMember(r, &m)
		l.setMember(m)
		return m.ID
	})
	l.jobs = make([]*jobRecord, 0, r.peekCount())
	loadSorted(r, l.job)
	loadSorted(r, l.partition)
	loadSorted(r, l.writer)
	if r.err == nil {
		l.derive()
	}
	*d = l.draft
}

// loadSorted reads a list of records. The digest is a sum and does not see their order, so a list in another order is
// refused here.
func loadSorted[K ~string](r *coder, record func() K) {
	var last K
	for i := range r.count() {
		key := record()
		if i > 0 && key <= last {
			r.fail("records that are not sorted")
		}
		if r.err != nil {
			return
		}
		last = key
	}
}

// hashFrom is that of the record that was just read: its encoding is the only one that it has.
func (l *loader) hashFrom(kind byte, from int) Hash {
	l.coder.data = append(l.coder.data[:0], l.r.data[from:l.r.off]...)
	h := l.hash(kind)
	l.digest += h
	return h
}

// layoutOf is that of the job before where it is the same.
func (l *loader) layoutOf(j *Job) *layout {
	classes, pool := l.classesOf(j.ID, j.Spec), poolTasks(j.Spec)
	if n := len(l.jobs); n > 0 && l.jobs[n-1].layout.equal(classes, pool) {
		return l.jobs[n-1].layout
	}
	return &layout{classes, pool}
}

func (l *loader) job() JobID {
	from := l.r.off
	rec := l.jobSlab.next()
	if codeJob(l.r, &rec.Job); l.r.err != nil {
		return ""
	}
	rec.hash = l.hashFrom(kindJob, from)
	if n := len(l.jobs); n > 0 && l.jobs[n-1].Spec == rec.Spec && !spreads(rec.Spec) {
		rec.layout = l.jobs[n-1].layout
	} else {
		rec.layout = l.layoutOf(&rec.Job)
	}
	l.indexJob(rec, 1)
	ordered.Set(&l.draft.jobs, rec.ID, rec)
	l.jobs = append(l.jobs, rec)
	return rec.ID
}

// spreads reports whether the job has classes of its own.
func spreads(s *JobSpec) bool {
	return slices.ContainsFunc(s.Tasks, func(t TaskSpec) bool { return t.SpreadOver != "" })
}

func (l *loader) classesOf(id JobID, spec *JobSpec) []*schedule.Class {
	classes := make([]*schedule.Class, len(spec.Tasks))
	for i := range spec.Tasks {
		if t := &spec.Tasks[i]; t.Spread != SpreadEvery && t.Spread != SpreadPool {
			classes[i] = l.class(id, t)
		}
	}
	return classes
}

func (l *loader) class(id JobID, t *TaskSpec) *schedule.Class {
	plain := len(t.Selector) == 0 && t.Pin == "" && t.SpreadOver == "" && !t.Stay
	if plain && l.usual != nil && l.usual.Weight == weightOr(t.Weight) {
		return l.usual
	}
	c := classOf(id, t)
	known, ok := l.classes[c.Key]
	if !ok {
		known, l.classes[c.Key] = &c, &c
	}
	if plain {
		l.usual = known
	}
	return known
}

// jobOf finds the job of the next partition: mostly that of the last one, or the next.
func (l *loader) jobOf(id JobID) (*jobRecord, bool) {
	for n := range 2 {
		if i := l.at + n; i < len(l.jobs) && l.jobs[i].ID == id {
			l.at = i
			return l.jobs[i], true
		}
	}
	i, ok := slices.BinarySearchFunc(l.jobs, id, func(j *jobRecord, id JobID) int { return cmp.Compare(j.ID, id) })
	if !ok {
		return nil, false
	}
	l.at = i
	return l.jobs[i], true
}

func (l *loader) partition() PartitionID {
	from := l.r.off
	l.expect()
	rec := l.partSlab.next()
	p := &rec.Partition
	if codePartition(l.r, p); l.r.err != nil {
		return ""
	}
	rec.hash = l.hashFrom(kindPartition, from)
	j, ok := l.jobOf(rec.job())
	switch {
	case p.Dropped:
	case ok:
		rec.class = l.classFor(j, rec)
	default:
		l.r.fail(fmt.Sprintf("partition %q has no job", p.ID))
		return p.ID
	}
	if ok && rec.open() {
		j.open++
	}
	ordered.Set(&l.partitions, rec.ID, rec)
	l.collect(rec)
	return rec.ID
}

// expect lets the name of a job's only partition be that of the job.
func (l *loader) expect() {
	if i := l.at + 1; i < len(l.jobs) {
		l.r.shared.next = string(l.jobs[i].ID)
	}
	if len(l.jobs) > 0 && ordered.Len(&l.partitions) == 0 {
		l.r.shared.next = string(l.jobs[0].ID)
	}
}

// classFor is the class of a partition: one value for all of its key.
func (l *loader) classFor(j *jobRecord, p *partitionRecord) *schedule.Class {
	c := l.draft.classFor(j, p)
	if c == nil || kindOf(c) == kindTasks {
		return c
	}
	known, ok := l.classes[c.Key]
	if !ok {
		known, l.classes[c.Key] = c, c
	}
	return known
}

func (l *loader) writer() WriterID {
	from := l.r.off
	var id WriterID
	var rec writerRecord
	codeWriter(l.r, &id, &rec)
	rec.hash = l.hashFrom(kindWriter, from)
	ordered.Set(&l.writers, id, rec)
	return id
}

// collect notes what is derived from a partition: derived.index does the same for one at a time.
func (l *loader) collect(p *partitionRecord) {
	if p.Slot != 0 && p.Owner != "" {
		l.indexSlot(p, 1)
	}
	if p.Owner != "" {
		l.own(p.Owner, p.ID)
	}
	if p.Next != "" && p.Next != p.Owner {
		l.own(p.Next, p.ID)
	}
	if p.moving() {
		l.derived.moving++
	}
	l.derived.markChild(&p.Partition, 1)
	if p.spent() {
		l.spent = append(l.spent, &p.Partition)
	}
	if p.class == nil {
		return
	}
	l.references[p.class]++
	switch p.State {
	case PartitionWaiting:
		l.waiting[p.class] = append(l.waiting[p.class], p.ID)
	case PartitionGranted:
		at := place{p.Owner, p.class}
		l.grants[at] = append(l.grants[at], p.ID)
	}
	if h := p.holder(); h != "" {
		l.loads[place{h, p.class}]++
	}
}

func (l *loader) own(m MemberID, p PartitionID) { l.owned[m] = append(l.owned[m], p) }

// derive builds what was collected.
func (l *loader) derive() {
	for _, m := range slices.Sorted(maps.Keys(l.owned)) {
		ordered.Add(&l.derived.byMember, string(m), l.owned[m]...)
	}
	for _, p := range l.spent {
		l.draft.indexSpent(p, 1) // all children are there
	}
	for _, at := range slices.SortedFunc(maps.Keys(l.grants), place.compare) {
		ordered.Add(&l.derived.movable, movableKey(at.member, at.class.Key), l.grants[at]...)
	}
	for _, at := range slices.SortedFunc(maps.Keys(l.loads), place.compare) {
		l.derived.indexLoad(at.member, at.class, l.loads[at])
	}
	byKey := func(a, b *schedule.Class) int { return cmp.Compare(a.Key, b.Key) }
	for _, c := range slices.SortedFunc(maps.Keys(l.waiting), byKey) {
		ordered.Add(&l.derived.unplaced, c.Key, l.waiting[c]...)
	}
	for _, c := range slices.SortedFunc(maps.Keys(l.references), byKey) {
		l.derived.indexClass(c, l.references[c])
	}
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.class.Key, b.class.Key))
}
