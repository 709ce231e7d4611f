package schedule

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The dumb twin deals slots one at a time, to whom the next is worth most; where several are equal it tries them all.
// Of the outcomes whose shares are, as a whole, those of dealing to the first in order, Allocate must choose one that
// takes the fewest slots from their tasks; of these the one with the larger shares for the jobs that come first.
func TestSlotsLeastMovement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 3, 3, 4, 3)
		p := w.pool()
		a := Allocate(p)
		best, chosen := int64(math.MaxInt64), []int64(nil)
		for _, outcome := range dumbJobs(p, &a) {
			cost := int64(0)
			for i, j := range a.Order {
				cost += dumbLeaving(&p.Jobs[j], outcome[i])
			}
			if cost < best || cost == best && slices.Compare(outcome, chosen) > 0 {
				best, chosen = cost, outcome
			}
		}
		var got []int64
		for _, j := range a.Order {
			got = append(got, a.Shares[j].Slots)
		}
		moved := int64(0)
		for _, m := range a.Moves {
			if m.From != NoPost {
				moved++
			}
		}
		if best == math.MaxInt64 {
			best = 0
		}
		best += heldByFinished(p)
		if moved != best || !slices.Equal(got, chosen) {
			rt.Fatalf("%d moves to %v, %d to %v would do\n%s", moved, got, best, chosen, w)
		}
	})
}

// TestWhatIsHeldBackHolds: slots that a task still has and needs no more, as after an update, are for the others.
func TestWhatIsHeldBackHolds(t *testing.T) {
	t.Parallel()
	held := []Held{{Slot{"a", 1}, 1}, {Slot{"a", 2}, 2}, {Slot{"a", 3}, 3}}
	a := Allocate(&Pool{Free: []Slot{{"b", 1}, {"b", 2}}, Jobs: []Job{{ID: "j", Tasks: []Task{
		{Name: "back", Finished: true, Held: held}, {Name: "x"}, {Name: "y"}}}}})
	if got := a.Shares[0].Tasks; !slices.Equal(got, []int64{0, 3, 2}) {
		t.Errorf("of 5 slots they get %d", got)
	}
	if got := JobScheduler(len(schedulerNames)).String(); got != "unknown-3" {
		t.Errorf("a scheduler of a newer version is %s", got)
	}
}

// heldByFinished counts the slots that have to leave whatever the shares are.
func heldByFinished(p *Pool) (n int64) {
	for _, j := range p.Jobs {
		for _, task := range j.Tasks {
			if task.Finished {
				n += int64(len(task.Held))
			}
		}
	}
	return n
}

// dumbJobs lists the shares of jobs, in order of their turns, that are as good as dealing in order.
func dumbJobs(p *Pool, a *Allocation) [][]int64 {
	claims := make([]claim, len(a.Order))
	left := a.Usable
	for i, j := range a.Order {
		lo, hi, _ := limits(&p.Jobs[j])
		hi = min(hi, a.Usable)
		switch {
		case p.Jobs[j].Protected && lo > left:
			continue // neither lo nor hi: it gets nothing
		case p.Scheduler == JobsGreedy:
			claims[i].lo = min(left, hi)
			claims[i].hi = claims[i].lo
			left -= claims[i].lo
			continue
		case p.Jobs[j].Protected:
			claims[i].lo = lo
			left -= lo
		case p.Scheduler == JobsRoundRobin:
			left -= min(left, 1)
		default:
			left -= min(left, hi, a.Usable*p.Jobs[j].Percent/100)
		}
		claims[i].hi = hi
		if p.Scheduler == JobsPercentage {
			claims[i].head = a.Usable * p.Jobs[j].Percent
		}
	}
	return dumbDeal(claims, a.Usable, p.Scheduler == JobsPercentage)
}

// dumbLeaving is the fewest slots that must leave the tasks of a job which has so many.
func dumbLeaving(j *Job, slots int64) int64 {
	var claims []claim
	var held []int64
	left := slots
	for _, task := range j.Tasks {
		if task.Finished {
			continue
		}
		c := claim{lo: task.Min, hi: slots}
		if j.Protected {
			c.lo = max(1, c.lo)
		}
		c.lo = min(c.lo, left)
		left -= c.lo
		if task.Max > 0 {
			c.hi = min(slots, max(task.Max, task.Min, 1))
		}
		if j.Scheduler == TasksPercentage {
			c.head = slots * task.Percent
		}
		claims, held = append(claims, c), append(held, int64(len(task.Held)))
	}
	if j.Scheduler == TasksGreedy {
		for i := range claims {
			more := min(left, max(0, claims[i].hi-claims[i].lo))
			claims[i].lo += more
			claims[i].hi = claims[i].lo
			left -= more
		}
	}
	best := int64(math.MaxInt64)
	for _, outcome := range dumbDeal(claims, slots, j.Scheduler == TasksPercentage) {
		cost := int64(0)
		for i := range outcome {
			cost += max(0, held[i]-outcome[i])
		}
		best = min(best, cost)
	}
	return best
}

// dumbDeal deals n slots in all ways that ties allow and keeps the outcomes with the same shares as dealing to the
// first in order.
func dumbDeal(claims []claim, n int64, percent bool) [][]int64 {
	start := make([]int64, len(claims))
	for i := range claims {
		start[i] = claims[i].lo
		n -= claims[i].lo
	}
	level := map[string][]int64{fmt.Sprint(start): start}
	first := start
	for range n {
		next := make(map[string][]int64)
		for _, got := range level {
			for _, to := range dumbNext(claims, got, percent) {
				x := slices.Clone(got)
				x[to]++
				next[fmt.Sprint(x)] = x
			}
		}
		if len(next) == 0 {
			break
		}
		first = slices.Clone(first)
		first[dumbNext(claims, first, percent)[0]]++
		level = next
	}
	var out [][]int64
	for _, x := range level {
		if slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(first))) {
			out = append(out, x)
		}
	}
	return out
}

// dumbNext lists those to whom the next slot is worth most.
func dumbNext(claims []claim, got []int64, percent bool) (to []int) {
	best := int64(math.MinInt64)
	for i := range claims {
		if got[i] >= claims[i].hi {
			continue
		}
		worth := claims[i].head - got[i]
		if percent {
			worth = claims[i].head - 100*got[i]
		}
		if worth > best {
			best, to = worth, nil
		}
		if worth == best {
			to = append(to, i)
		}
	}
	return to
}

// Of claims with equal heads the cheapest get one more; how many of each head do is settled by the order alone, since
// their shares cannot be exchanged.
func TestTiesOfUnequalHeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heads, costs []int64
		more         int64
		want         []int64
	}{
		{[]int64{100, 0, 100, 0}, []int64{1, 9, 0, 5}, 2, []int64{0, 0, 1, 1}}, // by cost alone: the first and the third
		{[]int64{0, 0, 0, 0}, []int64{1, 9, 0, 5}, 2, []int64{1, 0, 1, 0}},
		{[]int64{0, 100, 100}, []int64{9, 9, 9}, 1, []int64{1, 0, 0}},
		{[]int64{7, 7}, []int64{3, 3}, 1, []int64{1, 0}},
	} {
		claims := make([]claim, len(c.heads))
		for i, head := range c.heads {
			claims[i] = claim{head: head, tied: true}
		}
		new(ties).choose(claims, c.more, func(i int) int64 { return c.costs[i] })
		for i, want := range c.want {
			if claims[i].got != want {
				t.Errorf("heads %v, costs %v: claim %d got %d, want %d", c.heads, c.costs, i, claims[i].got, want)
			}
		}
	}
}
