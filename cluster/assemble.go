package cluster

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

// Assemble makes a value from its records. What a former incarnation of a member has claimed is free; a partition without a job is left out.
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

func (d *draft) assemble(part Part) {
	job, _, _ := part.ID.Split()
	rec := &partitionRecord{Partition: part.Partition}
	j, ok := d.jobs.Get(job)
	if !ok && !part.Dropped {
		return
	}
	if !part.Dropped {
		rec.class = d.classFor(j, rec)
	}
	if _, ok := d.Value.members.Get(rec.Next); !ok {
		rec.Next = ""
	}
	d.atMS = part.ChangedMS
	switch owner, ok := d.Value.members.Get(rec.Owner); {
	case rec.Owner == "" || ok && (rec.Offered || owner.Incarnation == part.By && owner.State == MemberJoined):
	case ok && !rec.Offered && owner.State == MemberHeld && owner.Incarnation == part.By && rec.class != nil:
		rec.State, rec.Next = PartitionHeld, ""
	case rec.class == nil:
		return // it comes back with its member, or in another slot
	default:
		rec.From, rec.Owner, rec.Next, rec.NextToken, rec.State = rec.Owner, "", "", 0, PartitionWaiting
		rec.Cause = string(rec.From) + " is gone"
	}
	d.setPartition(rec)
}
