package cluster

// Excerpt makes a value from some of the records of another: all members, complete as of an index, and some jobs and partitions. Partitions
// without their job are left out. It is only for reading; nothing is applied to it.
func Excerpt(index Index, l Leadership, members []Member, jobs []Job, partitions []Partition) Value {
	d := &draft{loading: true}
	d.index, d.at, d.leader = index, index, l
	d.settings.Placement = PlacementOffered
	for _, m := range members {
		d.setMember(m)
	}
	for _, j := range jobs {
		d.loadJob(j)
	}
	for _, p := range partitions {
		if j, ok := d.jobs.Get(p.job()); ok {
			rec := &partitionRecord{Partition: p}
			rec.class = d.classFor(j, rec)
			d.setPartition(rec)
		}
	}
	return d.value()
}
