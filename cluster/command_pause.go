package cluster

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rota-run/rota/internal/ordered"
)

// PauseJob takes the partitions of a job from their owners, under their hand-over contract, and keeps them without one
// until ResumeJob. What is parked or finished stays so.
type PauseJob struct {
	Job JobID
	By  string // who asked for it, for people; not empty
}

func (PauseJob) tag() byte { return 64 }

func (c PauseJob) code(x *coder) Command {
	codeText(x, &c.Job)
	codeText(x, &c.By)
	return made(x, c)
}

func (c PauseJob) check() error {
	if c.By == "" {
		return errors.New("by: it is empty")
	}
	return errors.Join(at("job", CheckName(string(c.Job))), at("by", checkText(c.By)))
}

// String returns the command on one line.
func (c PauseJob) String() string { return fmt.Sprintf("pause-job %s by %q", c.Job, c.By) }

func (c PauseJob) apply(d *draft) string {
	j, ok := ordered.Get(&d.jobs, c.Job)
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

// ResumeJob ends a pause.
type ResumeJob struct{ Job JobID }

func (ResumeJob) tag() byte { return 65 }

func (c ResumeJob) code(x *coder) Command {
	codeText(x, &c.Job)
	return made(x, c)
}

func (c ResumeJob) check() error {
	return at("job", CheckName(string(c.Job)))
}

// String returns the command on one line.
func (c ResumeJob) String() string { return "resume-job " + string(c.Job) }

func (c ResumeJob) apply(d *draft) string {
	j, ok := ordered.Get(&d.jobs, c.Job)
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

// Paused reports whether the job was told to rest.
func (j *Job) Paused() bool { return j.PausedBy != "" }

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
	if j, ok := ordered.Get(&d.jobs, p.job()); ok && j.Paused() {
		return false
	}
	return d.parentsFinished(p)
}
