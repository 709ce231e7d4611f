package cluster

import (
	"iter"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

// topological orders the tasks so that each comes after all tasks that it takes from; if the edges leave a choice, the
// order of the spec decides. If that is impossible, cycle names tasks that lead to each other, the first one again at
// its end.
func topological(s *JobSpec) (order []int, cycle []string) {
	index := make(map[string]int, len(s.Tasks))
	for i := range s.Tasks {
		index[s.Tasks[i].Name] = i
	}
	after := make([][]int, len(s.Tasks)) // by task: what takes from it
	waits := make([]int, len(s.Tasks))   // by task: from how many it takes that are not in the order yet
	for _, e := range s.Edges {
		from, ok := index[e.From]
		to, ok2 := index[e.To]
		if ok && ok2 {
			after[from] = append(after[from], to)
			waits[to]++
		}
	}
	ready := make([]int, 0, len(s.Tasks)) // sorted
	for i := range waits {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		order = append(order, i)
		for _, to := range after[i] {
			if waits[to]--; waits[to] == 0 {
				at, _ := slices.BinarySearch(ready, to)
				ready = slices.Insert(ready, at, to)
			}
		}
	}
	if len(order) < len(s.Tasks) {
		return nil, findCycle(s, after, waits)
	}
	return order, nil
}

// findCycle walks against the edges among the tasks that wait for each other, where it must come to one again.
func findCycle(s *JobSpec, after [][]int, waits []int) (names []string) {
	before := make(map[int]int)
	for from := range after {
		for _, to := range after[from] {
			if _, ok := before[to]; !ok && waits[from] > 0 {
				before[to] = from
			}
		}
	}
	at := slices.IndexFunc(waits, func(n int) bool { return n > 0 })
	var path []int
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = before[at]
	}
	path = append(path[slices.Index(path, at):], at)
	slices.Reverse(path)
	for _, i := range path {
		names = append(names, s.Tasks[i].Name)
	}
	return names
}

// Cycle returns tasks whose edges lead from one to the next and back to the first, which is repeated at the end; nil if
// there is no such cycle. Edges of unknown tasks do not count.
func (s *JobSpec) Cycle() []string {
	_, cycle := topological(s)
	return cycle
}

// poolTasks lists the tasks of spread pool, by index, in topological order.
func poolTasks(s *JobSpec) (pool []int) {
	if !slices.ContainsFunc(s.Tasks, func(t TaskSpec) bool { return t.Spread == SpreadPool }) {
		return nil
	}
	order, _ := topological(s)
	for _, i := range order {
		if s.Tasks[i].Spread == SpreadPool {
			pool = append(pool, i)
		}
	}
	return pool
}

// finished reports whether the task is in the set of finished ones.
func (j *Job) finished(task string) bool {
	_, ok := slices.BinarySearch(j.Finished, task)
	return ok
}

// unfinished reports whether a task of spread pool has yet to finish.
func (j *jobRecord) unfinished() bool {
	return slices.ContainsFunc(j.pool, func(i int) bool { return !j.finished(j.Spec.Tasks[i].Name) })
}

// TaskOrder yields the tasks of the job in the topological order of its edges, in which they get slots.
func (j Job) TaskOrder() iter.Seq[*TaskSpec] {
	return func(yield func(*TaskSpec) bool) {
		if j.Spec == nil {
			return
		}
		order, _ := topological(j.Spec)
		for _, i := range order {
			if !yield(&j.Spec.Tasks[i]) {
				return
			}
		}
	}
}

// JobState returns the state of a job: the stored one, or pending if it is live and nothing of it runs. False if there
// is no such job.
func (v Value) JobState(id JobID) (JobState, bool) {
	j, ok := ordered.Get(&v.jobs, id)
	if !ok {
		return 0, false
	}
	if j.State != JobRunning {
		return j.State, true
	}
	state := JobPending
	v.eachOf(id, func(p Partition) bool {
		if p.Owner != "" && !p.Dropped && p.State != PartitionHeld {
			state = JobRunning
		}
		return state == JobPending
	})
	return state, true
}

// eachOf yields the partitions of a job in order.
func (v Value) eachOf(id JobID, yield func(Partition) bool) {
	if p, ok := ordered.Get(&v.partitions, PartitionID(id)); ok && !yield(p.Partition) {
		return
	}
	for _, sep := range []PartitionID{"#", "/"} {
		more := true
		ordered.Below(&v.partitions, PartitionID(id)+sep, func(_ PartitionID, p *partitionRecord) bool {
			more = yield(p.Partition)
			return more
		})
		if !more {
			return
		}
	}
}
