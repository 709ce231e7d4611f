package cluster

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/schedule"
)

// finishTask puts a task of spread pool into the set of finished ones: whoever of its slots says so speaks for all. The others must stop.
func (d *draft) finishTask(p *partitionRecord) {
	job, task, _ := p.ID.Split()
	was := p.Dropped
	d.removePartition(p.ID) // its run has ended
	old, ok := d.jobs.Get(job)
	if !ok || was || old.State != JobRunning {
		return
	}
	rec := *old
	at, _ := slices.BinarySearch(rec.Finished, task)
	rec.Finished = slices.Insert(slices.Clone(rec.Finished), at, task)
	d.setJob(&rec)
	for _, id := range d.partitionsOf(job, task) {
		d.vacate(id, "its task is finished")
	}
	d.completeJob(job)
}

// failJob ends the job of a task of spread pool that failed too often: what others wait for will not come.
func (d *draft) failJob(p *partitionRecord) {
	job, _, _ := p.ID.Split()
	d.removePartition(p.ID)
	old, ok := d.jobs.Get(job)
	if !ok || old.State != JobRunning {
		return
	}
	rec := *old
	rec.Message = fmt.Sprintf("%s failed %d times in a row, last: %s", p.ID, p.Attempts, p.Message)
	if p.Attempts == 1 {
		rec.Message = fmt.Sprintf("%s failed once: %s", p.ID, p.Message)
	}
	d.setJob(&rec)
	d.dropAll(job)
	d.endJob(job, JobFailed)
}

// keepFinished takes over from the former spec which tasks are finished, and the turn.
func (j *jobRecord) keepFinished(old *Job) {
	if len(j.pool) == 0 {
		return
	}
	if old.Turn != (Turn{}) {
		j.Turn = old.Turn
	}
	for _, name := range old.Finished {
		if t, ok := j.Task(name); ok && t.Spread == SpreadPool {
			j.Finished = append(j.Finished, name)
		}
	}
}

// vacateAll takes the slots of a member that is draining, and reports whether it had any left.
func (d *draft) vacateAll(m MemberID) (had bool) {
	for _, id := range d.ownedIDs(m) {
		if p, _ := d.partitions.Get(id); p.Slot != 0 && !p.Dropped {
			d.vacate(id, string(m)+" is draining")
			had = true
		}
	}
	return had
}

// percentRefused returns why a job cannot have its percentage, "" if it can.
func (d *draft) percentRefused(id JobID, spec *JobSpec) string {
	if d.settings.JobScheduler != schedule.JobsPercentage || spec.Percent == 0 {
		return ""
	}
	if sum := d.percentages(id) + spec.Percent; sum > 100 {
		return fmt.Sprintf("spec.percent: with the other live jobs the percentages come to %d, at most 100 are allowed", sum)
	}
	return ""
}

// percentages is the sum over the live jobs but one.
func (d *draft) percentages(but JobID) (sum int64) {
	d.derived.pools.Each(func(_ string, id JobID) bool {
		if j, _ := d.jobs.Get(id); id != but {
			sum += j.Spec.Percent
		}
		return true
	})
	return sum
}

// schedulerRefused returns why the job scheduler cannot be chosen, "" if it can.
func (d *draft) schedulerRefused(name string) string {
	if name != schedule.JobsPercentage.String() {
		return ""
	}
	if sum := d.percentages(""); sum > 100 {
		return fmt.Sprintf("job_scheduler: the percentages of the live jobs come to %d, at most 100 are allowed", sum)
	}
	return ""
}

// setScheduler chooses one whose name was checked.
func (d *draft) setScheduler(name string) {
	var s schedule.JobScheduler
	if s.UnmarshalText([]byte(name)) == nil {
		d.settings.JobScheduler, d.allocate = s, true
	}
}
