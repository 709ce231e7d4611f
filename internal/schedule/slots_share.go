package schedule

import (
	"cmp"
	"math"
	"slices"
)

// sharing is the work of one call of Allocate.
type sharing struct {
	pool   *Pool
	out    Allocation
	needs  []need // by job
	claims []claim
	of     []int32 // by claim: its job
	ties   ties
	tasks  []claim // of the job that is looked at
	among  ties    // its tasks
	trial  []int64 // shares of its tasks, tried out
}

// need is what a job can use.
type need struct {
	lo, hi int64 // the sum of the minima and of the maxima of its unfinished tasks
	held   int64 // by them
	live   bool  // it has unfinished tasks
	// divided is for how many slots the shares of its tasks have been worked out; 0 for none.
	divided int64
}

// Allocate shares the slots of the pool among its jobs and their tasks. It reads the pool and changes nothing; equal
// content gives the same plan in any order of jobs, free and held slots. See the package documentation for its
// guarantees.
func Allocate(p *Pool) Allocation {
	s := &sharing{pool: p, needs: make([]need, len(p.Jobs))}
	s.survey()
	s.order()
	if p.Scheduler == JobsGreedy {
		s.inTurn()
	} else {
		s.evenly()
	}
	s.shareTasks()
	s.deal()
	return s.out
}

// survey counts.
func (s *sharing) survey() {
	tasks := 0
	for j := range s.pool.Jobs {
		tasks += len(s.pool.Jobs[j].Tasks)
	}
	flat := make([]int64, tasks)
	s.out.Shares = make([]Share, len(s.pool.Jobs))
	s.out.Usable = int64(len(s.pool.Free)) + max(0, s.pool.Busy)
	for j := range s.pool.Jobs {
		job := &s.pool.Jobs[j]
		n := len(job.Tasks)
		s.out.Shares[j].Tasks, flat = flat[:n:n], flat[n:]
		for t := range job.Tasks {
			s.out.Usable += int64(len(job.Tasks[t].Held))
			s.needs[j].add(&job.Tasks[t])
		}
	}
}

// manySlots is more than there are; it can be added up.
const manySlots = math.MaxInt64 >> 20

func (n *need) add(t *Task) {
	if t.Finished {
		return
	}
	n.live = true
	n.lo += min(manySlots, max(1, t.Min))
	n.held += int64(len(t.Held))
	if t.Max <= 0 {
		n.hi += manySlots
	} else {
		n.hi += min(manySlots, max(1, t.Min, t.Max))
	}
}

func (s *sharing) order() {
	s.out.Order = make([]int, 0, len(s.pool.Jobs))
	for j := range s.pool.Jobs {
		if s.needs[j].live {
			s.out.Order = append(s.out.Order, j)
		}
	}
	slices.SortFunc(s.out.Order, func(a, b int) int { return compareTurns(&s.pool.Jobs[a], &s.pool.Jobs[b]) })
}

func compareTurns(a, b *Job) int {
	switch {
	case a.Passed != b.Passed && b.Passed:
		return -1
	case a.Passed != b.Passed:
		return 1
	case !a.Passed && a.Since != b.Since:
		return cmp.Compare(a.Since, b.Since)
	}
	return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
}

// covered reports whether the job can have its turn with what is left, and notes it.
func (s *sharing) covered(j int, left int64) bool {
	job, need, share := &s.pool.Jobs[j], &s.needs[j], &s.out.Shares[j]
	share.Offered = left
	if !job.Protected || left >= need.lo {
		return true
	}
	share.Uncovered = true
	// One that waits for older jobs to end keeps its place: nothing was left for anyone behind it either.
	share.Passed = job.Passed || left > 0 || need.held > 0
	return false
}

// inTurn is the greedy job scheduler.
func (s *sharing) inTurn() {
	left := s.out.Usable
	for _, j := range s.out.Order {
		if s.covered(j, left) {
			s.out.Shares[j].Slots = min(left, s.needs[j].hi)
			left -= s.out.Shares[j].Slots
		}
	}
}

// evenly is the round-robin and the percentage job scheduler. First it finds the protected jobs whose minima fit, in
// their turns; an older job that is not protected keeps a slot, or what is due to it in full, so that who comes later
// does not starve it.
func (s *sharing) evenly() {
	left := s.out.Usable
	for _, j := range s.out.Order {
		if !s.covered(j, left) {
			continue
		}
		c, keep := claim{hi: s.needs[j].hi, held: s.needs[j].held}, int64(1)
		if s.pool.Scheduler == JobsPercentage {
			c.head = due(s.out.Usable, s.pool.Jobs[j].Percent)
			keep = min(c.hi, c.head/percent)
		}
		if s.pool.Jobs[j].Protected {
			c.lo, keep = s.needs[j].lo, s.needs[j].lo
		}
		left -= min(left, keep)
		s.claims, s.of = append(s.claims, c), append(s.of, int32(j))
	}
	if len(s.claims) == 0 {
		return
	}
	more := fill(s.claims, s.out.Usable, stepOf(s.pool.Scheduler == JobsPercentage))
	s.ties.choose(s.claims, more, s.costOfOneMore)
	for i, j := range s.of {
		s.out.Shares[j].Slots = s.claims[i].got
	}
}

// due is how many hundredths of a slot a percentage comes to.
func due(slots, percentage int64) int64 { return slots * min(percent, max(0, percentage)) }

// stepOf is the step of a scheduler that shares by percentages, or of one that does not.
func stepOf(byPercent bool) int64 {
	if byPercent {
		return percent
	}
	return whole
}

// costOfOneMore is how many more slots leave their tasks if the job of the claim gets one more; mostly it is zero or
// less.
func (s *sharing) costOfOneMore(i int) int64 {
	j, got := int(s.of[i]), s.claims[i].got
	job, tasks := &s.pool.Jobs[j], s.out.Shares[j].Tasks
	s.divide(job, got+1, tasks) // most get it: then this need not be done again
	s.needs[j].divided = got + 1
	s.trial = slices.Grow(s.trial[:0], len(job.Tasks))[:len(job.Tasks)]
	s.divide(job, got, s.trial)
	return leaving(job, tasks) - leaving(job, s.trial)
}

// leaving is how many slots leave their tasks if these have such shares.
func leaving(job *Job, shares []int64) (n int64) {
	for t := range job.Tasks {
		n += max(0, int64(len(job.Tasks[t].Held))-shares[t])
	}
	return n
}

func (s *sharing) shareTasks() {
	for _, j := range s.out.Order {
		share := &s.out.Shares[j]
		switch share.Slots {
		case s.needs[j].divided: // done already, or nothing to do
		case 0:
			clear(share.Tasks)
		default:
			s.divide(&s.pool.Jobs[j], share.Slots, share.Tasks)
		}
	}
}
