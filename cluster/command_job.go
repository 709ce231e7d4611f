package cluster

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
)

// Expected is the state of the job that the writer of a command has seen: the command does nothing if the job has
// changed since. 0 means no expectation, as in entries from before expectations existed; otherwise it is one more than
// the SpecIndex of the job, which is 0 if there is no job.
type Expected uint64

// Expect returns the expectation of a job with this SpecIndex, 0 for no such job.
func Expect(index Index) Expected { return Expected(index) + 1 }

// NotExpected is the reason for refusing a command whose expectation is wrong: read the job again.
const NotExpected = "the job is not as the writer of this has seen it"

// expected reports whether the job is as the writer has seen it.
func (d *draft) expected(id JobID, e Expected) bool {
	if e == 0 {
		return true
	}
	var index Index
	if j, ok := ordered.Get(&d.jobs, id); ok {
		index = j.SpecIndex
	}
	return e == Expect(index)
}

// fenced returns why a command written under a partition's token does not count, "" if it does.
func (d *draft) fenced(by PartitionID, token Token) string {
	if by == "" {
		return ""
	}
	p, ok := ordered.Get(&d.partitions, by)
	if !ok {
		return "the partition it is written under is unknown"
	}
	return p.owned(token)
}

// SubmitJob adds a job. The same id with the same spec is a no-op; with another spec it is refused, unless the
// former job has ended. By, if set, must own its partition under ByToken (a source writes under its own token).
type SubmitJob struct {
	Job      JobID
	Spec     JobSpec
	By       PartitionID
	ByToken  Token
	Expected Expected
}

func (SubmitJob) tag() byte { return 7 }

func (c SubmitJob) code(x *coder) Command {
	codeSubmit(x, &c)
	return made(x, c)
}

func codeSubmit(x *coder, c *SubmitJob) {
	codeText(x, &c.Job)
	codeJobSpec(x, &c.Spec)
	codeText(x, &c.By)
	codeUint(x, &c.ByToken)
	codeUint(x, &c.Expected)
}

func (c SubmitJob) check() error {
	return checkJob(c.Job, &c.Spec)
}

// String returns the command on one line.
func (c SubmitJob) String() string {
	return jobText("submit-job", c.Job, &c.Spec, c.By, c.ByToken, c.Expected)
}

func jobText(verb string, id JobID, s *JobSpec, by PartitionID, token Token, e Expected) string {
	out := verb + " " + string(id)
	if s != nil {
		types := make([]string, len(s.Tasks))
		for i, t := range s.Tasks {
			types[i] = t.Type
		}
		out += " " + strings.Join(types, ",")
	}
	if by != "" {
		out += fmt.Sprintf(" by %s token=%d", by, token)
	}
	if e != 0 {
		out += fmt.Sprintf(" expected=%d", e-1)
	}
	return out
}

func (c SubmitJob) apply(d *draft) string {
	if why := d.fenced(c.By, c.ByToken); why != "" {
		return why
	}
	old, ok := ordered.Get(&d.jobs, c.Job)
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

func sourceName(s *JobSpec) string {
	if s.Source == "" {
		return "a client"
	}
	return "source " + s.Source
}

// SameSpec reports whether two specs are equal, byte by byte, by their canonical encoding.
func SameSpec(a, b *JobSpec) bool {
	var of, other coder
	codeJobSpec(&of, a)
	codeJobSpec(&other, b)
	return bytes.Equal(of.data, other.data)
}

// UpdateJob replaces the spec of a live job. Partitions whose task has changed only in its definition do not move.
type UpdateJob struct {
	Job      JobID
	Spec     JobSpec
	By       PartitionID
	ByToken  Token
	Expected Expected
}

func (UpdateJob) tag() byte { return 8 }

func (c UpdateJob) code(x *coder) Command {
	codeSubmit(x, (*SubmitJob)(&c))
	return made(x, c)
}

func (c UpdateJob) check() error {
	return checkJob(c.Job, &c.Spec)
}

// String returns the command on one line.
func (c UpdateJob) String() string {
	return jobText("update-job", c.Job, &c.Spec, c.By, c.ByToken, c.Expected)
}

func (c UpdateJob) apply(d *draft) string {
	if why := d.fenced(c.By, c.ByToken); why != "" {
		return why
	}
	old, ok := ordered.Get(&d.jobs, c.Job)
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
		if p, ok := ordered.Get(&d.partitions, NewPartitionID(j.ID, now.Name, key)); !ok || p.Dropped {
			d.addPartition(j, now.Name, key, nil)
		}
	}
	for _, key := range old.Partitions {
		if !listed[key] {
			d.drop(NewPartitionID(j.ID, now.Name, key))
		}
	}
}

// KillJob ends a job: its partitions are removed.
type KillJob struct {
	Job     JobID
	By      PartitionID
	ByToken Token
}

func (KillJob) tag() byte { return 9 }

func (c KillJob) code(x *coder) Command {
	codeText(x, &c.Job)
	codeText(x, &c.By)
	codeUint(x, &c.ByToken)
	return made(x, c)
}

func (c KillJob) check() error {
	return at("job", CheckName(string(c.Job)))
}

// String returns the command on one line.
func (c KillJob) String() string { return jobText("kill-job", c.Job, nil, c.By, c.ByToken, 0) }

func (c KillJob) apply(d *draft) string {
	if why := d.fenced(c.By, c.ByToken); why != "" {
		return why
	}
	j, ok := ordered.Get(&d.jobs, c.Job)
	if !ok || j.State != JobRunning {
		return "no such live job"
	}
	d.dropAll(c.Job)
	d.endJob(c.Job, JobKilled)
	return ""
}
