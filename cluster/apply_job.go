package cluster

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/schedule"
)

// fenced returns why a command written under a partition's token does not count, "" if it does.
func (d *draft) fenced(by PartitionID, token Token) string {
	if by == "" {
		return ""
	}
	p, ok := d.partitions.Get(by)
	if !ok {
		return "the partition it is written under is unknown"
	}
	return p.owned(token)
}

func (d *draft) submitJob(c SubmitJob) string {
	if why := d.fenced(c.By, c.ByToken); why != "" {
		return why
	}
	old, ok := d.jobs.Get(c.Job)
	switch {
	case !d.expected(c.Job, c.Expected):
		return NotExpected
	case ok && old.State == JobRunning && SameSpec(old.Spec, &c.Spec):
		return ""
	case ok && old.State == JobRunning && old.Spec.Source != c.Spec.Source:
		return "a job of this name exists, from " + sourceName(old.Spec)
	case ok && old.State == JobRunning:
		return "a job of this name exists with another spec"
	case ok && old.State == JobCompleted && SameSpec(old.Spec, &c.Spec) && c.Expected == 0:
		return "" // a retried submission must not run the job again
	}
	if why := cmp.Or(d.poolRefused(&c.Spec), d.percentRefused(c.Job, &c.Spec)); why != "" {
		return why
	}
	if ok {
		d.dropAll(c.Job)
		d.removeJob(c.Job)
	}
	d.addJob(c.Job, c.Spec)
	d.submitted++
	return ""
}

// NotExpected is the reason for refusing a command whose expectation is wrong: read the job again.
const NotExpected = "the job is not as the writer of this has seen it"

// expected reports whether the job is as the writer has seen it.
func (d *draft) expected(id JobID, e Expected) bool {
	if e == 0 {
		return true
	}
	var index Index
	if j, ok := d.jobs.Get(id); ok {
		index = j.SpecIndex
	}
	return e == Expect(index)
}

func sourceName(s *JobSpec) string {
	if s.Source == "" {
		return "a client"
	}
	return "source " + s.Source
}

// SameSpec reports whether two specs are equal, byte by byte, by their canonical encoding.
func SameSpec(a, b *JobSpec) bool {
	return bytes.Equal(appendJobSpec(nil, *a), appendJobSpec(nil, *b))
}

func (d *draft) newRecord(id JobID, spec JobSpec) *jobRecord {
	rec := &jobRecord{Job: Job{ID: id, State: JobRunning, Spec: &spec, SpecIndex: d.at, SinceMS: d.atMS}}
	rec.layout = &layout{d.classesOf(id, &spec), poolTasks(&spec)}
	if len(rec.pool) > 0 {
		rec.Turn = Turn{Submitted: d.at, Ordinal: d.submitted, Since: d.at}
	}
	return rec
}

func (d *draft) classesOf(id JobID, spec *JobSpec) []*schedule.Class {
	classes := make([]*schedule.Class, len(spec.Tasks))
	for i := range spec.Tasks {
		if t := &spec.Tasks[i]; t.Spread != SpreadEvery && t.Spread != SpreadPool {
			classes[i] = d.class(id, t)
		}
	}
	return classes
}

// class returns the class of a task, the shared one where there is one.
func (d *draft) class(id JobID, t *TaskSpec) *schedule.Class {
	c := classOf(id, t)
	if known, ok := d.derived.classes.Get(c.Key); ok {
		return known.class
	}
	return &c
}

func (d *draft) addJob(id JobID, spec JobSpec) {
	rec := d.newRecord(id, spec)
	d.setJob(rec)
	for i := range spec.Tasks {
		d.addTask(rec, &spec.Tasks[i])
	}
	d.replan, d.members = true, true
}

func (d *draft) addTask(j *jobRecord, t *TaskSpec) {
	switch t.Spread {
	case SpreadSingle:
		d.addPartition(j, t.Name, "", nil)
	case SpreadPartitioned:
		for _, key := range t.Partitions {
			d.addPartition(j, t.Name, key, nil)
		}
	}
}

// addPartition makes a partition wait for an owner, or for its parents. One that is being dropped is kept: it changes hands
// only after its owner has stopped.
func (d *draft) addPartition(j *jobRecord, task, key string, parents []string) {
	d.addItem(j, task, "", Item{Key: key}, parents)
}

// addItem is addPartition for what a partitioner has listed.
func (d *draft) addItem(j *jobRecord, task, by string, item Item, parents []string) {
	id := NewPartitionID(j.ID, task, item.Key)
	p, ok := d.edit(id)
	if !ok {
		p = &partitionRecord{Partition: Partition{ID: id}}
	}
	p.Dropped, p.Parents, p.Attempts, p.Deaths, p.Message = false, parents, 0, 0, ""
	p.ListedBy, p.Input, p.Step, p.Cursor = by, item.Input, 0, nil
	p.class = d.classFor(j, p)
	if p.State == PartitionReleasing {
		p.NextToken = d.at // its owner runs a former one
		d.setPartition(p)
		d.replan = true
		return
	}
	d.free(p, "")
}

func (j *jobRecord) classOf(task string) *schedule.Class {
	for i := range j.Spec.Tasks {
		if j.Spec.Tasks[i].Name == task {
			return j.classes[i]
		}
	}
	return nil
}

func (d *draft) updateJob(c UpdateJob) string {
	if why := d.fenced(c.By, c.ByToken); why != "" {
		return why
	}
	old, ok := d.jobs.Get(c.Job)
	switch {
	case !d.expected(c.Job, c.Expected):
		return NotExpected
	case !ok || old.State != JobRunning:
		return "no such live job"
	case old.Spec.Source != c.Spec.Source:
		return "it is from " + sourceName(old.Spec)
	case SameSpec(old.Spec, &c.Spec):
		return ""
	}
	if why := cmp.Or(d.poolRefused(&c.Spec), d.percentRefused(c.Job, &c.Spec)); why != "" {
		return why
	}
	rec := d.newRecord(c.Job, c.Spec)
	rec.open = old.open
	rec.keepFinished(&old.Job)
	rec.PausedBy, rec.PausedMS = old.PausedBy, old.PausedMS
	d.setJob(rec)
	for i := range old.Spec.Tasks {
		d.updateTask(rec, &old.Spec.Tasks[i])
	}
	for i := range c.Spec.Tasks {
		t := &c.Spec.Tasks[i]
		if was, ok := old.Task(t.Name); !ok || was.Spread != t.Spread {
			d.addTask(rec, t)
		}
	}
	d.replan, d.members = true, true
	d.completeRest(c.Job)
	return ""
}

// updateTask brings the partitions of a task of the former spec in line with the present one.
func (d *draft) updateTask(j *jobRecord, old *TaskSpec) {
	now, ok := j.Task(old.Name)
	if !ok || now.Spread != old.Spread {
		d.dropTask(j.ID, old.Name)
		return
	}
	for _, id := range d.partitionsOf(j.ID, old.Name) {
		if p, _ := d.edit(id); !p.Dropped {
			d.updatePartition(j, p)
		}
	}
	if now.Spread == SpreadPartitioned {
		d.updateKeys(j, old, now)
	}
}

// updatePartition gives it the class of the present spec and forgives its failures.
func (d *draft) updatePartition(j *jobRecord, p *partitionRecord) {
	p.class = d.classFor(j, p)
	p.Attempts, p.Deaths, p.Message = 0, 0, ""
	if p.State == PartitionParked {
		d.retry(p, "its definition changed")
		return
	}
	d.setPartition(p)
}

// updateKeys adds the initial keys that are new and drops those that are listed no more; children of splits stay.
func (d *draft) updateKeys(j *jobRecord, old, now *TaskSpec) {
	listed := make(map[string]bool, len(now.Partitions))
	for _, key := range now.Partitions {
		listed[key] = true
		if p, ok := d.partitions.Get(NewPartitionID(j.ID, now.Name, key)); !ok || p.Dropped {
			d.addPartition(j, now.Name, key, nil)
		}
	}
	for _, key := range old.Partitions {
		if !listed[key] {
			d.drop(NewPartitionID(j.ID, now.Name, key))
		}
	}
}

func (d *draft) killJob(c KillJob) string {
	if why := d.fenced(c.By, c.ByToken); why != "" {
		return why
	}
	j, ok := d.jobs.Get(c.Job)
	if !ok || j.State != JobRunning {
		return "no such live job"
	}
	d.dropAll(c.Job)
	d.endJob(c.Job, JobKilled)
	return ""
}

func (d *draft) endJob(id JobID, state JobState) {
	old, ok := d.jobs.Get(id)
	if !ok {
		return
	}
	rec := *old
	rec.State, rec.SpecIndex, rec.SinceMS = state, d.at, d.atMS
	rec.PausedBy, rec.PausedMS = "", 0
	d.setJob(&rec)
	d.forgetJobs()
}

// completeRest is completeJob where partitions were dropped: what is left must be something that was done.
func (d *draft) completeRest(job JobID) {
	j, ok := d.jobs.Get(job)
	if !ok || j.open > 0 {
		return
	}
	if len(j.Finished) > 0 {
		d.completeJob(job)
		return
	}
	for _, id := range d.allOf(job) {
		if p, _ := d.partitions.Get(id); p.State == PartitionFinished {
			d.completeJob(job)
			return
		}
	}
}

// completeJob ends the job when all its partitions are finished.
func (d *draft) completeJob(job JobID) {
	j, ok := d.jobs.Get(job)
	if !ok || j.State != JobRunning || j.open > 0 {
		return
	}
	if j.unfinished() || slices.Contains(d.partial, job) {
		return
	}
	for i := range j.Spec.Tasks {
		if j.Spec.Tasks[i].Spread == SpreadEvery {
			return // members yet to come have work to do
		}
	}
	d.endJob(job, JobCompleted)
}

// forgetJobs removes the jobs that ended first, beyond the limit. Partitions whose owner has yet to stop outlive their job.
func (d *draft) forgetJobs() {
	limit := int(d.Settings().Retention)
	for d.derived.ended.Len() > limit {
		var id JobID
		d.derived.ended.Each(func(_ string, first JobID) bool {
			id = first
			return false
		})
		d.dropAll(id)
		d.removeJob(id)
	}
}

// partitionsOf lists the partitions of a task, in order.
func (d *draft) partitionsOf(job JobID, task string) []PartitionID {
	base := NewPartitionID(job, task, "")
	var ids []PartitionID
	if _, ok := d.partitions.Get(base); ok {
		ids = append(ids, base)
	}
	ordered.Below(&d.partitions, base+"#", func(id PartitionID, _ *partitionRecord) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

// allOf lists the partitions of a job.
func (d *draft) allOf(job JobID) []PartitionID {
	ids := d.partitionsOf(job, "")
	ordered.Below(&d.partitions, PartitionID(job)+"/", func(id PartitionID, _ *partitionRecord) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

func (d *draft) dropAll(job JobID) {
	for _, id := range d.allOf(job) {
		d.drop(id)
	}
	d.replan = true
}

func (d *draft) dropTask(job JobID, task string) {
	for _, id := range d.partitionsOf(job, task) {
		d.drop(id)
	}
	d.replan = true
}

// drop removes a partition. Where the contract is at-most-one and an owner may be running it, the record stays until the
// owner has stopped: the same name could be submitted again and must not run twice.
func (d *draft) drop(id PartitionID) {
	p, ok := d.edit(id)
	if !ok || p.Dropped {
		return // one that is dropped already has yet to stop
	}
	if p.Slot != 0 {
		d.vacate(id, "its job or task ended")
		return
	}
	if d.claimed() {
		d.dismiss(p, "its job or task ended")
		return
	}
	running := p.State == PartitionGranted && !p.Offered || p.State == PartitionReleasing
	if !running || p.class == nil || d.handover(id) != HandoverAtMostOne {
		d.removePartition(id)
		return
	}
	p.State, p.Next, p.NextToken, p.Dropped, p.class = PartitionReleasing, "", 0, true, nil
	p.Cause = "its job or task ended"
	d.setPartition(p)
}

// handover is the contract of the partition's task; at-most-one where the task is gone.
func (d *draft) handover(id PartitionID) Handover {
	job, task, _ := id.Split()
	if j, ok := d.jobs.Get(job); ok {
		if t, ok := j.Task(task); ok {
			return t.Handover
		}
	}
	return HandoverAtMostOne
}
