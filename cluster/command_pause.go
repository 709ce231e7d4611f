package cluster

import "cmp"

// What people say of a job that is to rest.
type (
	// PauseJob takes the partitions of a job from their owners, under their hand-over contract, and keeps them without one until ResumeJob. What is parked or
	// finished stays so.
	PauseJob struct {
		Job JobID
		By  string // who asked for it, for people; not empty
	}
	// ResumeJob ends a pause.
	ResumeJob struct{ Job JobID }
)

func (PauseJob) command()  {}
func (ResumeJob) command() {}

// Paused reports whether the job was told to rest.
func (j *Job) Paused() bool { return j.PausedBy != "" }

func (d *draft) pauseJob(c PauseJob) string {
	j, ok := d.jobs.Get(c.Job)
	switch {
	case !ok || j.State != JobRunning:
		return "no such live job"
	case j.Paused():
		return "" // the first one counts
	}
	rec := *j
	rec.PausedBy, rec.PausedMS = c.By, d.atMS
	d.setJob(&rec)
	d.halt(c.Job)
	return ""
}

func (d *draft) resumeJob(c ResumeJob) string {
	j, ok := d.jobs.Get(c.Job)
	switch {
	case !ok || j.State != JobRunning:
		return "no such live job"
	case !j.Paused():
		return ""
	}
	if why := d.percentRefused(c.Job, j.Spec); why != "" {
		return why
	}
	rec := *j
	rec.PausedBy, rec.PausedMS = "", 0
	d.setJob(&rec)
	for _, id := range d.allOf(c.Job) {
		if p, _ := d.edit(id); p.State == PartitionBlocked && d.startable(p) {
			d.free(p, "resumed")
		}
	}
	d.replan, d.members = true, true
	return ""
}

// halt takes the partitions of a paused job from their owners. Done again, it changes nothing.
func (d *draft) halt(job JobID) {
	for _, id := range d.allOf(job) {
		if p, _ := d.edit(id); !p.Dropped {
			d.haltOne(p)
		}
	}
	d.replan = true
}

func (d *draft) haltOne(p *partitionRecord) {
	const cause = "its job is paused"
	switch {
	case p.Slot != 0:
		d.vacate(p.ID, cause)
	case p.class == nil && p.State != PartitionFinished:
		d.unplace(p.ID)
	case p.State == PartitionWaiting || p.State == PartitionHeld:
		d.free(p, cmp.Or(p.Cause, cause))
	case p.State == PartitionGranted || p.State == PartitionAdopting:
		p.NextToken = 0
		if p.Offered {
			d.free(p, cause)
			return
		}
		p.State, p.Next, p.Cause = PartitionReleasing, "", cause
		d.setPartition(p)
	case p.State == PartitionReleasing && p.Next != "":
		p.Next = ""
		d.setPartition(p)
	}
}

// startable reports whether nothing holds a partition back: neither a parent nor a pause.
func (d *draft) startable(p *partitionRecord) bool {
	if j, ok := d.jobs.Get(p.job()); ok && j.Paused() {
		return false
	}
	return d.parentsFinished(p)
}
