package cluster

import "github.com/rota-run/rota/schedule"

func appendLabel(b []byte, l Label) []byte { return appendString(appendString(b, l.Key), l.Value) }

func decodeLabel(r *decoder) Label { return Label{Key: r.string(), Value: r.string()} }

func appendText(b []byte, s string) []byte { return appendString(b, s) }

func appendChild(b []byte, c Child) []byte {
	return appendList(appendString(b, c.Key), c.Parents, appendText)
}

func decodeChild(r *decoder) Child {
	return Child{Key: r.string(), Parents: decodeList(r, (*decoder).string)}
}

func appendMember(b []byte, m Member) []byte {
	b = appendString(b, m.ID)
	b = appendUvarint(b, uint64(m.Incarnation))
	b = append(b, byte(m.State))
	b = append(b, m.flags())
	b = appendVarint(b, m.Slots)
	b = appendVarint(b, m.Weight)
	b = appendVarint(b, m.Capacity)
	b = appendList(b, m.Labels, appendLabel)
	b = appendString(b, m.Heartbeat)
	b = appendString(b, m.Address)
	b = appendString(b, m.Version)
	b = appendUvarint(b, uint64(m.Changed))
	return appendVarint(b, m.SinceMS)
}

func decodeMember(r *decoder) Member {
	m := Member{ID: MemberID(r.string()), Incarnation: Index(r.uvarint()), State: MemberState(r.enum(byte(MemberHeld)))}
	flags := r.enum(drainingFlag | revokedFlag)
	return Member{
		ID: m.ID, Incarnation: m.Incarnation, State: m.State, Draining: flags&drainingFlag != 0, Revoked: flags&revokedFlag != 0, Slots: r.varint(), Weight: r.varint(), Capacity: r.varint(),
		Labels: decodeList(r, decodeLabel), Heartbeat: r.string(), Address: r.string(), Version: r.string(),
		Changed: Index(r.uvarint()), SinceMS: r.varint(),
	}
}

func appendTask(b []byte, t TaskSpec) []byte {
	b = appendString(b, t.Name)
	b = appendString(b, t.Type)
	b = append(b, byte(t.Spread)|extended(t.Repartition))
	b = appendVarint(b, t.Weight)
	b = append(b, byte(t.Handover))
	b = appendList(b, t.Selector, appendLabel)
	b = appendString(b, t.SpreadOver)
	b = appendString(b, t.Pin)
	b = appendVarint(b, t.MaxAttempts)
	b = appendList(b, t.Partitions, appendText)
	b = appendString(b, t.Definition)
	if t.Spread == SpreadPool {
		b = appendVarint(appendVarint(appendVarint(b, t.Min), t.Max), t.Percent)
	}
	return b
}

func decodeTask(r *decoder) TaskSpec {
	t := TaskSpec{Name: r.string(), Type: r.string()}
	spread, repartition := r.extended(byte(SpreadPool))
	t = TaskSpec{
		Name: t.Name, Type: t.Type, Spread: Spread(spread), Repartition: repartition, Weight: r.varint(),
		Handover: Handover(r.enum(byte(HandoverFast))), Selector: decodeList(r, decodeLabel), SpreadOver: r.string(),
		Pin: MemberID(r.string()), MaxAttempts: r.varint(), Partitions: decodeList(r, (*decoder).string), Definition: r.blob(),
	}
	if t.Spread == SpreadPool {
		t.Min, t.Max, t.Percent = r.varint(), r.varint(), r.varint()
	}
	return t
}

func appendJobSpec(b []byte, s JobSpec) []byte {
	b = appendList(b, s.Tasks, appendTask)
	b = appendString(appendString(b, s.Source), s.Version)
	return appendWorkflow(b, &s.Workflow)
}

func decodeJobSpec(r *decoder) JobSpec {
	return JobSpec{Tasks: decodeList(r, decodeTask), Source: r.string(), Version: r.string(), Workflow: decodeWorkflow(r)}
}

func appendJob(b []byte, j Job) []byte {
	b = appendString(b, j.ID)
	b = append(b, byte(j.State)|extended(j.hasMore())|j.pausedFlag())
	b = appendJobSpec(b, *j.Spec)
	b = appendUvarint(b, uint64(j.SpecIndex))
	b = appendVarint(b, j.SinceMS)
	if j.hasMore() {
		b = appendMore(b, &j)
	}
	if j.Paused() {
		b = appendVarint(appendString(b, j.PausedBy), j.PausedMS)
	}
	return b
}

func decodeJob(r *decoder) Job {
	j := Job{ID: JobID(r.string())}
	state, more, paused := r.jobState()
	j.State, j.Spec, j.SpecIndex, j.SinceMS = JobState(state), r.jobSpec(), Index(r.uvarint()), r.varint()
	if more {
		decodeMore(r, &j)
	}
	if paused {
		if j.PausedBy, j.PausedMS = r.string(), r.varint(); j.PausedBy == "" {
			r.fail("a pause by nobody")
		}
	}
	return j
}

func appendPartition(b []byte, p Partition) []byte {
	b = appendString(b, p.ID)
	b = append(b, byte(p.State)|extended(p.Slot != 0)|p.flags())
	b = appendString(b, p.Owner)
	b = appendUvarint(b, uint64(p.Token))
	b = appendString(b, p.Next)
	b = appendUvarint(b, uint64(p.NextToken))
	b = appendString(b, p.From)
	b = appendString(b, p.Cause)
	b = appendVarint(b, p.Attempts)
	b = appendString(b, p.Message)
	b = appendList(b, p.Parents, appendText)
	b = appendBool(b, p.Dropped)
	b = appendVarint(b, p.ChangedMS)
	if p.Slot != 0 {
		b = appendVarint(b, p.Slot)
	}
	return appendDeaths(appendWindow(appendShare(b, &p), &p), &p)
}

func decodePartition(r *decoder) Partition {
	id := PartitionID(r.string())
	state, flags := r.partitionState()
	p := Partition{
		ID: id, State: PartitionState(state), Offered: flags&offeredFlag != 0,
		Owner: MemberID(r.string()), Token: Index(r.uvarint()), Next: MemberID(r.string()), NextToken: Index(r.uvarint()),
		From: MemberID(r.string()), Cause: r.string(), Attempts: r.varint(), Message: r.string(),
		Parents: decodeList(r, (*decoder).string), Dropped: r.bool(), ChangedMS: r.varint(),
	}
	if flags&moreFlag != 0 {
		if p.Slot = r.varint(); p.Slot == 0 {
			r.fail("a slot without a number")
		}
	}
	decodeShare(r, &p, flags)
	decodeWindow(r, &p, flags)
	decodeDeaths(r, &p, flags)
	return p
}

func appendWriter(b []byte, id WriterID, w writerRecord) []byte {
	return appendUvarint(appendUvarint(appendString(b, id), w.seq), w.seen)
}

func decodeWriter(r *decoder) (WriterID, writerRecord) {
	return WriterID(r.string()), writerRecord{seq: r.uvarint(), seen: r.uvarint()}
}

func appendSettings(b []byte, s Settings) []byte {
	return append(appendVarint(appendVarint(b, s.MoveBudget), s.Retention), byte(s.JobScheduler), byte(s.Placement))
}

func decodeSettings(r *decoder) Settings {
	return Settings{
		MoveBudget: r.varint(), Retention: r.varint(),
		JobScheduler: schedule.JobScheduler(r.enum(byte(schedule.JobsPercentage))), Placement: Placement(r.enum(byte(PlacementShared))),
	}
}
