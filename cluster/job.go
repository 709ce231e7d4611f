package cluster

import (
	"slices"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// JobState is the state of a job.
type JobState uint8

// Job is one job. It is a value: do not change what it points to.
type Job struct {
	ID        JobID
	State     JobState
	Spec      *JobSpec
	SpecIndex Index // of the entry with the present spec
	SinceMS   int64 // wall clock of the submitter, for people
	Turn      Turn
	Finished  []string // the tasks of spread pool that are finished: a sorted set
	Message   string   // why it failed
	PausedBy  string   // who paused it; "" while it is not paused
	PausedMS  int64    // when, by the wall clock of that writer, for people
}

// Turn is the place of a job with tasks of spread pool among the others.
type Turn struct {
	Submitted Index // of the entry that submitted it
	Ordinal   int64 // among the jobs of that entry, from 0
	Since     Index // when it took its place: Submitted, or the entry that covered it again
	Passed    bool  // its minimum could not be met: other jobs go first
}

// Task returns the task of that name.
func (j Job) Task(name string) (*TaskSpec, bool) {
	if j.Spec == nil {
		return nil, false
	}
	for i := range j.Spec.Tasks {
		if j.Spec.Tasks[i].Name == name {
			return &j.Spec.Tasks[i], true
		}
	}
	return nil, false
}

type jobRecord struct {
	Job
	*layout
	hash Hash
	open int    // partitions that are not finished, without those of spread pool; derived
	own  *maker // of the draft that made it
}

// layout is what is derived of the spec of a job. It is never changed, and jobs share equal ones.
type layout struct {
	classes []*schedule.Class // of each task; nil for spread every
	pool    []int             // the tasks of spread pool, by their index, in topological order
}

func (l *layout) equal(classes []*schedule.Class, pool []int) bool {
	return slices.Equal(l.classes, classes) && slices.Equal(l.pool, pool)
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
	if known, ok := ordered.Get(&d.derived.classes, c.Key); ok {
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

// addPartition makes a partition wait for an owner, or for its parents. One that is being dropped is kept: it changes
// hands only after its owner has stopped.
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

func (d *draft) endJob(id JobID, state JobState) {
	old, ok := ordered.Get(&d.jobs, id)
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
	j, ok := ordered.Get(&d.jobs, job)
	if !ok || j.open > 0 {
		return
	}
	if len(j.Finished) > 0 {
		d.completeJob(job)
		return
	}
	for _, id := range d.allOf(job) {
		if p, _ := ordered.Get(&d.partitions, id); p.State == PartitionFinished {
			d.completeJob(job)
			return
		}
	}
}

// completeJob ends the job when all its partitions are finished.
func (d *draft) completeJob(job JobID) {
	j, ok := ordered.Get(&d.jobs, job)
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

// forgetJobs removes the jobs that ended first, beyond the limit. Partitions whose owner has yet to stop outlive their
// job.
func (d *draft) forgetJobs() {
	limit := int(d.Settings().Retention)
	for ordered.Len(&d.derived.ended) > limit {
		var id JobID
		ordered.Each(&d.derived.ended, func(_ string, first JobID) bool {
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
	if _, ok := ordered.Get(&d.partitions, base); ok {
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

// drop removes a partition. Where the contract is at-most-one and an owner may be running it, the record stays until
// the owner has stopped: the same name could be submitted again and must not run twice.
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
	if j, ok := ordered.Get(&d.jobs, job); ok {
		if t, ok := j.Task(task); ok {
			return t.Handover
		}
	}
	return HandoverAtMostOne
}

// The states of a job.
const (
	JobRunning   JobState = iota
	JobCompleted          // every partition and every task of spread pool is finished
	JobKilled
	JobFailed  // a task of spread pool failed too often
	JobPending // like JobRunning, but none of its partitions runs. It is never stored: Value.JobState returns it
)
