package cluster

import "github.com/rota-run/rota/internal/ordered"

// Parts are the records of a value, as stored in documents.
type Parts struct {
	Index      Index // of the members
	Settings   Settings
	Members    []Member
	Jobs       []Job
	Partitions []Part
}

// Part is a partition with the incarnation in which its owner claimed it; 0 if it is unclaimed.
type Part struct {
	Partition
	By Incarnation
}

// Assemble makes a value from its records. What a former incarnation of a member has claimed is free; a partition
// without a job is left out.
func Assemble(parts Parts) Value {
	d := &draft{unlogged: true, loading: true}
	d.index, d.at, d.settings = parts.Index, parts.Index, parts.Settings
	d.digest = d.settingsHash()
	for _, m := range parts.Members {
		d.setMember(m)
	}
	for _, j := range parts.Jobs {
		d.loadJob(j)
	}
	for _, p := range parts.Partitions {
		d.assemble(p)
	}
	return d.value()
}

// Reassemble makes of an assembled value what [Assemble] would make of the same records, but for some partitions: those
// that have changed or come, and those that are gone. Its cost grows with their number, not with that of all.
func (v Value) Reassemble(changed []Part, gone []PartitionID) Value {
	d := &draft{Value: v, at: v.index, unlogged: true, loading: true}
	for _, id := range gone {
		d.forget(id)
	}
	for _, p := range changed {
		d.assemble(p)
	}
	return d.value()
}

// assemble sets a partition, or leaves it out.
func (d *draft) assemble(part Part) {
	job, _, _ := part.ID.Split()
	rec := &partitionRecord{Partition: part.Partition}
	j, ok := ordered.Get(&d.jobs, job)
	if !ok && !part.Dropped {
		d.forget(part.ID)
		return
	}
	if !part.Dropped {
		rec.class = d.classFor(j, rec)
	}
	if _, ok := ordered.Get(&d.Value.members, rec.Next); !ok {
		rec.Next = ""
	}
	d.atMS = part.ChangedMS
	switch owner, ok := ordered.Get(&d.Value.members, rec.Owner); {
	case rec.Owner == "" || ok && (rec.Offered || owner.Incarnation == part.By && owner.State == MemberJoined):
	case ok && !rec.Offered && owner.State == MemberHeld && owner.Incarnation == part.By && rec.class != nil:
		rec.State, rec.Next = PartitionHeld, ""
	case rec.class == nil:
		d.forget(part.ID) // it comes back with its member, or in another slot
		return
	default:
		rec.From, rec.Owner, rec.Next, rec.NextToken, rec.State = rec.Owner, "", "", 0, PartitionWaiting
		rec.Cause = string(rec.From) + " is gone"
	}
	d.setPartition(rec)
}

// Excerpt makes a value from some of the records of another: all members, complete as of an index, and some jobs and
// partitions. Partitions without their job are left out. It is only for reading; nothing is applied to it. It is called
// on a former excerpt, or on the zero value: all records are encoded to compare them, and only those that differ are
// set.
func (v Value) Excerpt(index Index, l Leadership, members []Member, jobs []Job, partitions []Partition) Value {
	d := &draft{Value: v, unlogged: true, loading: true}
	d.index, d.at, d.leader = index, index, l
	d.settings.Placement = PlacementOffered
	d.leaveOut(d.hashes(members, jobs, partitions))
	for _, m := range members {
		if _, same := ordered.Get(&d.Value.members, m.ID); !same {
			d.setMember(m)
		}
	}
	for _, j := range jobs {
		if _, same := ordered.Get(&d.jobs, j.ID); !same {
			d.loadJob(j)
		}
	}
	for _, p := range partitions {
		_, same := ordered.Get(&d.partitions, p.ID)
		if j, ok := ordered.Get(&d.jobs, p.job()); ok && !same {
			rec := &partitionRecord{Partition: p}
			rec.class = d.classFor(j, rec)
			d.setPartition(rec)
		}
	}
	return d.value()
}

// hashes are those that records have in a value of them.
func (d *draft) hashes(members []Member, jobs []Job, partitions []Partition) map[Hash]bool {
	all := make(map[Hash]bool, len(members)+len(jobs)+len(partitions))
	for i := range members {
		codeMember(d.encode(), &members[i])
		all[d.hash(kindMember)] = true
	}
	for i := range jobs {
		codeJob(d.encode(), &jobs[i])
		all[d.hash(kindJob)] = true
	}
	for _, p := range partitions {
		p.ChangedMS = d.atMS
		codePartition(d.encode(), &p)
		all[d.hash(kindPartition)] = true
	}
	return all
}

// leaveOut removes all records but those of some hashes. The partitions of a job that is removed go with it.
func (d *draft) leaveOut(but map[Hash]bool) {
	was := d.Value
	ordered.Each(&was.partitions, func(id PartitionID, p *partitionRecord) bool {
		if j, ok := ordered.Get(&was.jobs, p.job()); !ok || !but[j.hash] || !but[p.hash] {
			d.forget(id)
		}
		return true
	})
	ordered.Each(&was.jobs, func(id JobID, j *jobRecord) bool {
		if !but[j.hash] {
			d.removeJob(id)
		}
		return true
	})
	ordered.Each(&was.members, func(id MemberID, m memberRecord) bool {
		if !but[m.hash] {
			d.removeMember(id)
		}
		return true
	})
}

// Do applies one command without a log: for a value that is assembled from documents, where at is the next index or
// token, from the document that decides the command. It neither counts an entry nor plans; the index of the value does
// not change.
func (v Value) Do(at Index, atMS int64, c Command) (Value, Result) {
	d := &draft{Value: v, at: at, atMS: atMS, unlogged: true, alone: v.claimed()}
	reason := d.apply(c)
	return d.value(), Result{Accepted: reason == "", Reason: reason}
}

func (d *draft) loadJob(j Job) {
	if j.Spec == nil {
		return
	}
	rec := &jobRecord{Job: j}
	rec.layout = &layout{d.classesOf(j.ID, j.Spec), poolTasks(j.Spec)}
	d.setJob(rec)
}
