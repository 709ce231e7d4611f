package cluster

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

// The kinds of records, which make their hashes distinct.
const (
	kindMember byte = iota + 1
	kindJob
	kindPartition
	kindWriter
	kindSettings
	kindLeader
	kindCommand // alone, in a document
	kindEpoch
)

// draft is a value being changed by one entry. Every change goes through its set and remove methods, which keep the
// digest and everything derived in step.
type draft struct {
	Value
	at      Index
	atMS    int64
	replan  bool // something changed that placement looks at
	members bool // membership changed: spread every is looked at
	// allocate: something changed that the allocation of slots looks at. Submitted is how many jobs this entry has
	// submitted.
	allocate  bool
	submitted int64
	touched   map[MemberID]struct{}
	writer    WriterID        // of the entry
	unlogged  bool            // the value does not come about by a log: its chain hash names nothing
	used      map[string]bool // by slotKey: what took this slot must be gone for all to see before it is given again
	partial   []JobID         // not completed: see Pending
	alone     bool            // one command, whose consequences for other records Settle derives
	taken     int             // number of commands of a repeated request
	notes     []note          // of what this entry has set or removed
	own       *maker          // of the records that this draft has made; nil until there is one
	loading   bool            // the value is made of records: nothing is noted or stamped
	coder     coder           // writes one record at a time, to be hashed
	former    partitionRecord // by editInPlace
}

// maker is the address of one draft.
type maker struct{ _ byte }

func (d *draft) maker() *maker {
	if d.own == nil {
		d.own = new(maker)
	}
	return d.own
}

func (v Value) draft(e *Entry) *draft {
	return &draft{Value: v, at: e.Index, atMS: e.AtMS, writer: e.Writer}
}

// value ends the draft.
func (d *draft) value() Value {
	d.stampTouched()
	v := d.Value
	if v.recent = v.recent.then(v.chain, d.notes); d.unlogged {
		v.recent = nil
	}
	ordered.Seal(&v.members)
	ordered.Seal(&v.jobs)
	ordered.Seal(&v.partitions)
	ordered.Seal(&v.writers)
	v.derived.seal()
	return v
}

// fewNotes is room for what a small entry changes.
const fewNotes = 16

// note names a record as changed.
func (d *draft) note(kind byte, id string) {
	if d.loading {
		return
	}
	if len(d.notes) == cap(d.notes) { // append alone grows long slices by a quarter, and leaves five times their length behind
		d.notes = slices.Grow(d.notes, max(len(d.notes), fewNotes))
	}
	d.notes = append(d.notes, note{kind, id})
}

// touch notes that what the member should be doing has changed.
func (d *draft) touch(m MemberID) {
	if m == "" || d.loading {
		return
	}
	if d.touched == nil {
		d.touched = make(map[MemberID]struct{})
	}
	d.touched[m] = struct{}{}
}

func (d *draft) stampTouched() {
	for id := range d.touched { // order-free: each member is stamped alike
		if m, ok := ordered.Get(&d.Value.members, id); ok && m.Changed != d.at {
			m.Changed = d.at
			d.setMember(m.Member)
		}
	}
}

func (d *draft) setMember(m Member) {
	d.note(kindMember, string(m.ID))
	old, ok := ordered.Get(&d.Value.members, m.ID)
	if ok {
		d.digest -= old.hash
		d.countJoined(&old.Member, -1)
	}
	if had, has := old.slots(), m.slots(); had != has {
		d.derived.indexSlots(m.ID, had, has)
		d.allocate = true
	}
	codeMember(d.encode(), &m)
	rec := memberRecord{Member: m, hash: d.hash(kindMember)}
	d.digest += rec.hash
	d.countJoined(&m, 1)
	ordered.Set(&d.Value.members, m.ID, rec)
}

func (d *draft) removeMember(id MemberID) {
	old, ok := ordered.Get(&d.Value.members, id)
	if !ok {
		return
	}
	d.note(kindMember, string(id))
	d.digest -= old.hash
	d.countJoined(&old.Member, -1)
	if had := old.slots(); had > 0 {
		d.derived.indexSlots(id, had, 0)
		d.allocate = true
	}
	ordered.Remove(&d.Value.members, id)
}

func (d *draft) countJoined(m *Member, by int) {
	if m.State == MemberJoined {
		d.derived.joined += by
	}
}

func (d *draft) setJob(rec *jobRecord) {
	d.note(kindJob, string(rec.ID))
	old, ok := ordered.Get(&d.jobs, rec.ID)
	if ok {
		d.digest -= old.hash
		d.indexJob(old, -1)
	}
	if !ok || old.Spec != rec.Spec {
		d.shareSpec(rec)
	}
	rec.own = d.maker()
	codeJob(d.encode(), &rec.Job)
	rec.hash = d.hash(kindJob)
	d.digest += rec.hash
	d.indexJob(rec, 1)
	ordered.Set(&d.jobs, rec.ID, rec)
}

// shareSpec takes the spec of the job before it, and what is derived of it, where they are the same: jobs that were
// written alike often follow each other.
func (d *draft) shareSpec(rec *jobRecord) {
	ordered.BackFrom(&d.jobs, rec.ID, func(id JobID, near *jobRecord) bool {
		if id == rec.ID {
			return true
		}
		if alike(near.Spec, rec.Spec) && SameSpec(near.Spec, rec.Spec) {
			rec.Spec = near.Spec
		}
		if near.layout.equal(rec.classes, rec.pool) {
			rec.layout = near.layout
		}
		return false
	})
}

// alike is cheap, and true where SameSpec is.
func alike(a, b *JobSpec) bool {
	if len(a.Tasks) != len(b.Tasks) || a.Source != b.Source || a.Version != b.Version {
		return false
	}
	return len(a.Tasks) == 0 || a.Tasks[0].Type == b.Tasks[0].Type &&
		bytes.Equal(a.Tasks[0].Definition, b.Tasks[0].Definition)
}

func (d *draft) removeJob(id JobID) {
	old, ok := ordered.Get(&d.jobs, id)
	if !ok {
		return
	}
	d.note(kindJob, string(id))
	d.digest -= old.hash
	d.indexJob(old, -1)
	ordered.Remove(&d.jobs, id)
}

func (d *draft) indexJob(j *jobRecord, by int) {
	if j.State != JobRunning {
		mark(&d.derived.ended, endedKey(&j.Job), j.ID, by)
		return
	}
	if j.Paused() {
		return // it wants neither slots nor a partition on each member
	}
	if len(j.pool) > 0 {
		mark(&d.derived.pools, string(j.ID), j.ID, by)
		d.allocate = true
	}
	for i := range j.Spec.Tasks {
		if t := &j.Spec.Tasks[i]; t.Spread == SpreadEvery {
			id := NewPartitionID(j.ID, t.Name, "")
			mark(&d.derived.everies, string(id), id, by)
		}
	}
}

// countOpen changes the number of unfinished partitions of a job. A record that this draft has not made is replaced,
// not changed: older values share it.
func (d *draft) countOpen(id JobID, by int) int {
	old, ok := ordered.Get(&d.jobs, id)
	if !ok {
		return math.MaxInt
	}
	if old.own == d.maker() {
		old.open += by
		return old.open
	}
	rec := *old
	rec.open, rec.own = rec.open+by, d.maker()
	ordered.Set(&d.jobs, id, &rec)
	return rec.open
}

func (d *draft) setPartition(p *partitionRecord) {
	old, _ := ordered.Get(&d.partitions, p.ID)
	ordered.Set(&d.partitions, p.ID, p)
	d.setAfter(old, p)
}

// setAfter keeps everything else in step with a record that was set: old is what was there before, nil for nothing.
func (d *draft) setAfter(old, p *partitionRecord) {
	p.ChangedMS = d.atMS
	if old == nil || old.own != d.maker() {
		d.note(kindPartition, string(p.ID))
	}
	p.own = d.maker()
	if old != nil {
		d.digest -= old.hash
		d.touch(old.Owner)
		d.touch(old.Next)
	}
	d.touch(p.Owner)
	d.touch(p.Next)
	d.link(old, p)
	if old == nil || !samePlace(old, p) {
		if old != nil {
			d.indexPartition(old, -1)
		}
		d.indexPartition(p, 1)
	}
	codePartition(d.encode(), &p.Partition)
	p.hash = d.hash(kindPartition)
	d.digest += p.hash
	d.countIfOpen(old, p)
}

// countIfOpen keeps the count of unfinished partitions of the job.
func (d *draft) countIfOpen(old, p *partitionRecord) {
	was := old != nil && old.open()
	is := p != nil && p.open()
	if was == is {
		return
	}
	rec := p
	by := 1
	if was {
		by = -1
	}
	if rec == nil {
		rec = old
	}
	d.countOpen(rec.job(), by)
}

func samePlace(a, b *partitionRecord) bool {
	return a.State == b.State && a.Owner == b.Owner && a.Next == b.Next && a.class == b.class && a.Slot == b.Slot &&
		(a.Slot == 0 || a.Token == b.Token && a.Dropped == b.Dropped)
}

// indexPartition adds (by = 1) or removes (by = −1) a partition to or from everything derived.
func (d *draft) indexPartition(p *partitionRecord, by int) {
	d.derived.index(p, by)
	d.indexSpent(&p.Partition, by)
	if p.Slot != 0 && p.Owner != "" {
		d.indexSlot(p, by)
	}
}

func (d *draft) removePartition(id PartitionID) {
	old, ok := d.forget(id)
	if !ok {
		return
	}
	d.allocate = d.allocate || old.Dropped
	d.replan = d.replan || old.Owner != "" // whoever had it has room
	d.unblockChildren(id)
}

// forget is removePartition without its consequences: nothing is planned, and no child is freed.
func (d *draft) forget(id PartitionID) (old *partitionRecord, ok bool) {
	if old, ok = ordered.Get(&d.partitions, id); !ok {
		return nil, false
	}
	d.note(kindPartition, string(id))
	d.digest -= old.hash
	d.touch(old.Owner)
	d.touch(old.Next)
	d.indexPartition(old, -1)
	d.link(old, nil)
	ordered.Remove(&d.partitions, id)
	d.countIfOpen(old, nil)
	return old, true
}

// edit returns a copy of the partition's record to change and give to setPartition.
func (d *draft) edit(id PartitionID) (*partitionRecord, bool) {
	old, ok := ordered.Get(&d.partitions, id)
	if !ok {
		return nil, false
	}
	rec := *old
	return &rec, true
}

// editInPlace is edit for a record that this draft has made already, and returns what it was as well: they are for
// setAfter. There is one at a time.
func (d *draft) editInPlace(id PartitionID) (old, p *partitionRecord, ok bool) {
	p, ok = ordered.Get(&d.partitions, id)
	if !ok || p.own != d.maker() {
		return nil, nil, false
	}
	d.former = *p
	return &d.former, p, true
}

func endedKey(j *Job) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(j.SpecIndex))) + string(j.ID)
}
