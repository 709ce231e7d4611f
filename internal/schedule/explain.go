package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Reason explains why an item has no owner.
type Reason struct {
	Rule string // the rule that refused it: "members", "pin: m1", "labels: gpu=yes", "spread: zone", "capacity", "draining", "offer", "plan"
	Text string // how many members refused it and why: "5 members: 5 lack the label"
	Try  string // what to do about it; "" if nothing needs to be done
}

// census counts the members by the first rule that refuses them.
type census struct {
	unpinned, unlabelled, unspread, draining, closed, full int
	pinned                                                 bool // the pinned member is among the members
	capacity                                               int64
	equal                                                  bool // all full members have that capacity
	open                                                   int
}

// Explain returns why an item of a class, by its index in the view, has no owner.
func Explain(v View, class int) Reason {
	members, c := v.Members(), v.Classes()[class]
	if len(members) == 0 {
		return Reason{Rule: "members", Text: "no member has joined", Try: "start a member"}
	}
	n := count(members, &c)
	if n.open > 0 {
		text := fmt.Sprintf("%d of %s may own it", n.open, plural(len(members), "member"))
		return Reason{Rule: "plan", Text: text + ", the next plan places it"}
	}
	rule, try := n.blame(&c)
	return Reason{Rule: rule, Text: n.text(len(members), &c), Try: try}
}

func count(members []Member, c *Class) (n census) {
	n.equal = true
	for i := range members {
		n.add(&members[i], c)
	}
	return n
}

func (n *census) add(m *Member, c *Class) {
	_, spread := value(m, c.SpreadOver)
	n.pinned = n.pinned || m.ID == c.Pin
	switch {
	case c.Pin != "" && m.ID != c.Pin:
		n.unpinned++
	case !meets(m, c.Selector):
		n.unlabelled++
	case c.SpreadOver != "" && !spread:
		n.unspread++
	case m.Draining:
		n.draining++
	case m.Closed:
		n.closed++
	case m.Capacity > 0 && m.Count >= m.Capacity:
		n.equal = n.equal && (n.full == 0 || m.Capacity == n.capacity)
		n.capacity = m.Capacity
		n.full++
	default:
		n.open++
	}
}

// blame names the rule to look at first: the one that only an operator can lift before the ones that time may lift.
func (n *census) blame(c *Class) (rule, try string) {
	switch {
	case n.full > 0:
		return "capacity", "raise the capacity of a member or start another"
	case n.draining > 0:
		return "draining", "end the draining of a member or start another"
	case n.closed > 0:
		return "offer", "see why the member does not answer, or start another"
	case c.Pin != "" && !n.pinned:
		return "pin: " + c.Pin, fmt.Sprintf("start member %s or remove the pin", c.Pin)
	case n.unlabelled > 0:
		return "labels: " + labels(c.Selector), fmt.Sprintf("give a member the %s or change the selector",
			noun(len(c.Selector), "label"))
	case n.unspread > 0:
		return "spread: " + c.SpreadOver, fmt.Sprintf("give the members the label %s or do not spread over it",
			c.SpreadOver)
	}
	return "pin: " + c.Pin, "remove the pin"
}

func (n *census) text(members int, c *Class) string {
	var parts []string
	add := func(n int, one, many string) {
		if n == 1 {
			parts = append(parts, "1 "+one)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(n.unpinned, "is not the pinned one", "are not the pinned one")
	what := noun(len(c.Selector), "label")
	add(n.unlabelled, "lacks the "+what, "lack the "+what)
	add(n.unspread, "has no label "+c.SpreadOver, "have no label "+c.SpreadOver)
	add(n.draining, "is draining", "are draining")
	add(n.closed, "did not answer an offer", "did not answer offers")
	limit := ""
	if n.equal {
		limit = fmt.Sprintf(" (capacity %d)", n.capacity)
	}
	add(n.full, "is full"+limit, "are full"+limit)
	return plural(members, "member") + ": " + strings.Join(parts, ", ")
}

func labels(selector []Label) string {
	out := make([]string, len(selector))
	for i, l := range selector {
		out[i] = l.Key + "=" + l.Value
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func noun(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

func plural(n int, one string) string { return fmt.Sprintf("%d %s", n, noun(n, one)) }

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
			Text: fmt.Sprintf("it needs %s, %d of %d %s left to it", plural(int(need.lo), "slot"), share.Offered,
				a.Usable, are(share.Offered)),
			Try: fmt.Sprintf("add %s, or submit it without required coverage",
				plural(int(need.lo-share.Offered), "slot")),
		}
	case p.Scheduler == JobsGreedy:
		return Reason{Rule: "order", Text: fmt.Sprintf("jobs before it have all %d slots (greedy)", a.Usable),
			Try: "add slots, or choose another job scheduler"}
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

// WhyTask explains why an unfinished task holds no slot: its job has none, it gets none of those that its job has, or
// its slots are still busy or moving. It returns the zero Reason if the task holds some or is finished.
func (a *Allocation) WhyTask(p *Pool, at Post) Reason {
	job, share := &p.Jobs[at.Job], &a.Shares[at.Job]
	task := &job.Tasks[at.Task]
	switch {
	case task.Finished || len(task.Held) > 0 && share.Tasks[at.Task] > 0:
		return Reason{}
	case share.Slots == 0:
		return a.WhyJob(p, at.Job)
	case share.Tasks[at.Task] > 0:
		return Reason{Rule: "hand-over",
			Text: fmt.Sprintf("%s, once what ran there has stopped", plural(int(share.Tasks[at.Task]), "slot"))}
	case job.Scheduler == TasksGreedy:
		return Reason{Rule: "order",
			Text: fmt.Sprintf("the task %s comes first (greedy)", job.Tasks[firstOf(job, share)].Name)}
	}
	text := fmt.Sprintf("the unfinished tasks of the job share %s (%s)", plural(int(share.Slots), "slot"),
		job.Scheduler)
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
				Rule: "coverage", Text: fmt.Sprintf("%s left, job %s needs %d", plural(int(idle), "slot"), p.Jobs[j].ID,
					need.lo),
				Try: fmt.Sprintf("add %s", plural(int(need.lo-a.Shares[j].Offered), "slot")),
			}
		}
	}
	return Reason{Rule: "max", Text: "every job has as many slots as it can use",
		Try: "raise the max of a task, or submit a job"}
}
