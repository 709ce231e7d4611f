package cluster

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

// Started is a step of a hand-over: the owner with this token is running. It completes a no-gap move.
type Started struct {
	Partition PartitionID
	Token     Token
}

func (Started) tag() byte { return 10 }

func (c Started) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	return made(x, c)
}

// String returns the command on one line.
func (c Started) String() string { return fmt.Sprintf("started %s token=%d", c.Partition, c.Token) }

func (c Started) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !ok:
		return "no such partition"
	case p.State == PartitionGranted && p.Token == c.Token && p.Deaths > 0:
		d.calm(p)
		return ""
	case p.State != PartitionAdopting || p.NextToken != c.Token:
		return "it is not being adopted under this token"
	}
	d.adopted(p, p.Cause)
	return ""
}

// Stopped is a step of a hand-over: the owner with this token has stopped. It completes an at-most-one move. From the
// target of a no-gap move it means that the run ended before it could take over.
type Stopped struct {
	Partition PartitionID
	Token     Token
}

func (Stopped) tag() byte { return 11 }

func (c Stopped) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	return made(x, c)
}

// String returns the command on one line.
func (c Stopped) String() string { return fmt.Sprintf("stopped %s token=%d", c.Partition, c.Token) }

func (c Stopped) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	switch {
	case !ok:
		return "no such partition"
	case p.State == PartitionAdopting && p.NextToken == c.Token:
		d.targetGone(p) // it cannot run it: the owner keeps it
	case p.State != PartitionReleasing || p.Token != c.Token:
		return "it is not being released under this token"
	case p.Dropped:
		d.removePartition(p.ID)
	case p.Next != "" && !d.claimed():
		d.grant(p, p.Next, p.Cause)
	default:
		d.free(p, p.Cause)
	}
	return ""
}

// Outcome is how a partition's run ended.
type Outcome uint8

// The outcomes.
const (
	OutcomeDone Outcome = iota
	OutcomeFailed
)

// FinishPartition ends an attempt. With OutcomeDone the partition is finished for ever. With OutcomeFailed the failure
// is counted; Attempt must be the partition's present count of failures; Fresh restarts the count at one (the run
// before the failure was long enough to forgive older ones). After MaxAttempts failures it is parked.
type FinishPartition struct {
	Partition PartitionID
	Token     Token
	Outcome   Outcome
	Attempt   int64
	Fresh     bool
	Message   string
}

func (FinishPartition) tag() byte { return 12 }

func (c FinishPartition) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeEnum(x, &c.Outcome, OutcomeFailed)
	codeInt(x, &c.Attempt)
	codeBool(x, &c.Fresh)
	codeText(x, &c.Message)
	return made(x, c)
}

func (c FinishPartition) check() error {
	return at("message", checkText(c.Message))
}

// String returns the command on one line.
func (c FinishPartition) String() string {
	s := fmt.Sprintf("finish-partition %s token=%d %s", c.Partition, c.Token, c.Outcome)
	if c.Outcome == OutcomeFailed {
		s += fmt.Sprintf(" attempt=%d %q", c.Attempt, c.Message)
	}
	return s
}

func (c FinishPartition) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	if !ok {
		return "no such partition"
	}
	if why := p.owned(c.Token); why != "" {
		return why
	}
	if c.Outcome == OutcomeDone && p.Slot != 0 && !d.alone {
		d.finishTask(p)
		return ""
	}
	if c.Outcome == OutcomeDone {
		d.finish(p)
		return ""
	}
	if c.Attempt != p.Attempts {
		return "it names another attempt"
	}
	d.fail(p, c)
	return ""
}

func (d *draft) fail(p *partitionRecord, c FinishPartition) {
	p.Attempts++
	if c.Fresh {
		p.Attempts = 1
	}
	p.Message = c.Message
	limit := d.maxAttempts(p.ID)
	if limit == 0 || p.Attempts < limit || p.Dropped {
		d.setPartition(p)
		return
	}
	if p.Slot != 0 && !d.alone {
		d.failJob(p)
		return
	}
	p.From, p.Owner, p.Next, p.NextToken = p.Owner, "", "", 0
	p.State, p.Cause = PartitionParked, "failed too often"
	d.setPartition(p)
	d.replan = true
}

func (d *draft) finish(p *partitionRecord) {
	if p.Dropped {
		d.removePartition(p.ID)
		return
	}
	p.From, p.Owner, p.Next, p.NextToken = p.Owner, "", "", 0
	p.State, p.Attempts, p.Deaths, p.Message, p.Cause = PartitionFinished, 0, 0, "", ""
	d.setPartition(p)
	d.replan = true
	d.unblockChildren(p.ID)
	d.completeJob(p.job())
}

// maxAttempts is the limit of the partition's task; 0 for none.
func (d *draft) maxAttempts(id PartitionID) int64 {
	job, task, _ := id.Split()
	j, ok := ordered.Get(&d.jobs, job)
	if !ok {
		return 0
	}
	t, ok := j.Task(task)
	if !ok {
		return 0
	}
	return t.MaxAttempts
}

// finishTask puts a task of spread pool into the set of finished ones: one of its slots speaks for all. The others must
// stop.
func (d *draft) finishTask(p *partitionRecord) {
	job, task, _ := p.ID.Split()
	was := p.Dropped
	d.removePartition(p.ID) // its run has ended
	old, ok := ordered.Get(&d.jobs, job)
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
	old, ok := ordered.Get(&d.jobs, job)
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

// UnparkPartition gives a parked partition another series of attempts.
type UnparkPartition struct{ Partition PartitionID }

func (UnparkPartition) tag() byte { return 14 }

func (c UnparkPartition) code(x *coder) Command {
	codeText(x, &c.Partition)
	return made(x, c)
}

// String returns the command on one line.
func (c UnparkPartition) String() string { return "unpark-partition " + string(c.Partition) }

func (c UnparkPartition) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	if !ok || p.State != PartitionParked {
		return "it is not parked"
	}
	p.Attempts, p.Deaths = 0, 0
	d.retry(p, "unparked")
	return ""
}

// retry lets a parked partition run again. One of spread every has only one place to go.
func (d *draft) retry(p *partitionRecord, cause string) {
	if p.class == nil {
		_, _, key := p.ID.Split()
		d.grant(p, MemberID(key), cause)
		return
	}
	d.free(p, cause)
}
