package schedule

import (
	"fmt"
	"testing"
)

// workload is 1,000 jobs of 10 tasks on 1,000 members of 10 slots, nothing given yet.
func workload(jobs JobScheduler, tasks TaskScheduler, protected bool) *slotWorld {
	w := &slotWorld{scheduler: jobs}
	for m := range 1000 {
		for n := range int64(10) {
			w.slots = append(w.slots, Slot{fmt.Sprintf("member-%04d", m), n + 1})
		}
	}
	for j := range 1000 {
		job := Job{ID: fmt.Sprintf("job-%04d", j), Scheduler: tasks, Protected: protected && j%2 == 0}
		if jobs == JobsPercentage && j < 100 {
			job.Percent = 1
		}
		for t := range 10 {
			job.Tasks = append(job.Tasks, Task{Name: fmt.Sprint("t", t), Percent: 10})
			if jobs == JobsGreedy {
				job.Tasks[t].Max = 2
			}
		}
		w.submit(job)
	}
	return w
}

func BenchmarkAllocate(b *testing.B) {
	for _, c := range []struct {
		jobs      JobScheduler
		tasks     TaskScheduler
		protected bool
	}{
		{JobsGreedy, TasksGreedy, false}, {JobsRoundRobin, TasksRoundRobin, false}, {JobsRoundRobin, TasksGreedy, true},
		{JobsRoundRobin, TasksPercentage, false}, {JobsPercentage, TasksPercentage, true},
	} {
		name := fmt.Sprintf("jobs=%s/tasks=%s/protected=%v", c.jobs, c.tasks, c.protected)
		w := workload(c.jobs, c.tasks, c.protected)
		b.Run(name+"/scratch", func(b *testing.B) { benchAllocate(b, w.pool()) })
		p := w.pool()
		a := Allocate(p)
		now := w.tick()
		for _, m := range a.Moves {
			task := &w.jobs[m.To.Job].Tasks[m.To.Task]
			task.Held = append(task.Held, Held{m.Slot, now})
		}
		b.Run(name+"/nothing", func(b *testing.B) { benchAllocate(b, w.pool()) })
		lost := w.jobs[500].Tasks[5].Held
		if len(lost) == 0 {
			lost = w.jobs[0].Tasks[0].Held
		}
		gone := lost[0].Slot
		w.dropSlots(func(s Slot) bool { return s == gone })
		b.Run(name+"/lost", func(b *testing.B) { benchAllocate(b, w.pool()) })
	}
}

func benchAllocate(b *testing.B, p *Pool) {
	b.ReportAllocs()
	moves := 0
	for b.Loop() {
		a := Allocate(p)
		moves = len(a.Moves)
	}
	b.ReportMetric(float64(moves), "moves")
}
