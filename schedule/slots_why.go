package schedule

import "fmt"

// WhyJob explains why a job with work gets no slot; it returns the zero Reason if the job gets some, or has no work.
func (a *Allocation) WhyJob(p *Pool, job int) Reason {
	share, need := &a.Shares[job], needOf(&p.Jobs[job])
	switch {
	case share.Slots > 0 || !need.live:
		return Reason{}
	case a.Usable == 0:
		return Reason{Rule: "slots", Text: "no member has a slot to give", Try: "start a member with slots"}
	case share.Uncovered:
		return Reason{
			Rule: "coverage",
			Text: fmt.Sprintf("it needs %s, %d of %d %s left to it", plural(int(need.lo), "slot"), share.Offered, a.Usable, are(share.Offered)),
			Try:  fmt.Sprintf("add %s, or submit it without required coverage", plural(int(need.lo-share.Offered), "slot")),
		}
	case p.Scheduler == JobsGreedy:
		return Reason{Rule: "order", Text: fmt.Sprintf("jobs before it have all %d slots (greedy)", a.Usable), Try: "add slots, or choose another job scheduler"}
	}
	text := fmt.Sprintf("%d jobs share %s (%s)", len(a.Order), plural(int(a.Usable), "slot"), p.Scheduler)
	return Reason{Rule: "share", Text: text, Try: "add slots"}
}

func needOf(j *Job) (n need) {
	for t := range j.Tasks {
		n.add(&j.Tasks[t])
	}
	return n
}

func are(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// WhyTask explains why an unfinished task holds no slot: its job has none, it gets none of those that its job has, or its slots are
// still busy or moving. It returns the zero Reason if the task holds some or is finished.
func (a *Allocation) WhyTask(p *Pool, at Post) Reason {
	job, share := &p.Jobs[at.Job], &a.Shares[at.Job]
	task := &job.Tasks[at.Task]
	switch {
	case task.Finished || len(task.Held) > 0 && share.Tasks[at.Task] > 0:
		return Reason{}
	case share.Slots == 0:
		return a.WhyJob(p, at.Job)
	case share.Tasks[at.Task] > 0:
		return Reason{Rule: "hand-over", Text: fmt.Sprintf("%s, once what ran there has stopped", plural(int(share.Tasks[at.Task]), "slot"))}
	case job.Scheduler == TasksGreedy:
		return Reason{Rule: "order", Text: fmt.Sprintf("the task %s comes first (greedy)", job.Tasks[firstOf(job, share)].Name)}
	}
	text := fmt.Sprintf("the unfinished tasks of the job share %s (%s)", plural(int(share.Slots), "slot"), job.Scheduler)
	return Reason{Rule: "share", Text: text, Try: "add slots"}
}

// firstOf is the first task that gets a slot.
func firstOf(job *Job, share *Share) int {
	for t := range job.Tasks {
		if share.Tasks[t] > 0 {
			return t
		}
	}
	return 0
}

// WhyIdle explains why slots are not given to any job; it returns the zero Reason if all are.
func (a *Allocation) WhyIdle(p *Pool) Reason {
	idle := a.Usable - a.Given()
	if idle == 0 {
		return Reason{}
	}
	if len(a.Order) == 0 {
		return Reason{Rule: "jobs", Text: "no runnable tasks", Try: "submit one"}
	}
	for _, j := range a.Order {
		if a.Shares[j].Uncovered {
			need := needOf(&p.Jobs[j])
			return Reason{
				Rule: "coverage", Text: fmt.Sprintf("%s left, job %s needs %d", plural(int(idle), "slot"), p.Jobs[j].ID, need.lo),
				Try: fmt.Sprintf("add %s", plural(int(need.lo-a.Shares[j].Offered), "slot")),
			}
		}
	}
	return Reason{Rule: "max", Text: "every job has as many slots as it can use", Try: "raise the max of a task, or submit a job"}
}
