package schedule

import (
	"fmt"
	"testing"
)

// fleet is n members that own k items, evenly; the change is a member that left (its items have no owner) or one that
// joined.
func fleet(n, k int, change string) (members []Member, classes []Class, items []Item) {
	owners := n
	if change == "join" {
		n++
	}
	for m := range n {
		members = append(members, Member{ID: fmt.Sprintf("member-%06d", m)})
	}
	items = make([]Item, k)
	for i := range items {
		items[i] = Item{ID: fmt.Sprintf("job/task/%08d", i), Owner: i % owners, Movable: true}
		switch {
		case change == "start":
			items[i].Owner = -1
		case change == "leave" && i%owners == 0:
			items[i].Owner = -1
		case change == "leave":
			items[i].Owner--
		}
	}
	if change == "leave" {
		members = members[1:]
	}
	return members, []Class{{Key: "c", Weight: 100}}, items
}

func BenchmarkPlace(b *testing.B) {
	for _, size := range [][2]int{{1000, 100_000}, {10_000, 1_000_000}} {
		for _, change := range []string{"nothing", "leave", "join", "start"} {
			members, classes, items := fleet(size[0], size[1], change)
			b.Run(fmt.Sprintf("%s/members=%d/items=%d/scratch", change, size[0], size[1]), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Place(NewTable(members, classes, items), -1)
				}
			})
			view := NewTable(members, classes, items)
			b.Run(fmt.Sprintf("%s/members=%d/items=%d/incremental", change, size[0], size[1]), func(b *testing.B) {
				b.ReportAllocs()
				moves := 0
				for b.Loop() {
					moves = len(Place(view, -1).Moves)
				}
				b.ReportMetric(float64(moves), "moves")
			})
		}
	}
}

// Many classes: a hundred kinds of items with rules of their own beside the ordinary ones.
func BenchmarkPlaceManyClasses(b *testing.B) {
	members, _, items := fleet(1000, 100_000, "leave")
	for m := range members {
		members[m].Labels = []Label{{"zone", fmt.Sprint(m % 3)}, {"kind", fmt.Sprint(m % 10)}}
	}
	var classes []Class
	for c := range 100 {
		class := Class{Key: fmt.Sprintf("c%03d", c), Weight: 100}
		switch c % 3 {
		case 1:
			class.Selector = []Label{{"kind", fmt.Sprint(c % 10)}}
		case 2:
			class.SpreadOver = "zone"
		}
		classes = append(classes, class)
	}
	for i := range items {
		items[i].Class = i % len(classes)
	}
	w := &world{members, classes, items}
	w.apply(b, Place(w.view(), -1))
	w.apply(b, Place(w.view(), -1))
	for i := range items {
		if items[i].Owner == 7 {
			items[i].Owner = -1
		}
	}
	view := w.view()
	b.ReportAllocs()
	for b.Loop() {
		Place(view, -1)
	}
}

// Overlapping rules: ten classes, each allowed on the three tenths of the members that have its label, unequal in size,
// so that shares have to be evened by chains. A leave is planned on a view that is even.
func BenchmarkPlaceOverlapping(b *testing.B) {
	for _, spread := range []string{"", "zone", "host"} {
		w := &world{}
		w.members, _, w.items = fleet(1000, 100_000, "start")
		for m := range w.members {
			labels := []Label{{"zone", fmt.Sprint(m % 3)}, {"host", fmt.Sprint(m)}}
			for k := range 3 {
				labels = append(labels, Label{"class", fmt.Sprint((m + k*(m/10%3+1)) % 10)})
			}
			w.members[m].Labels = labels
		}
		for c := range 10 {
			w.classes = append(w.classes, Class{Key: fmt.Sprint("c", c), Weight: 1, SpreadOver: spread,
				Selector: []Label{{"class", fmt.Sprint(c)}}})
		}
		for i := range w.items {
			w.items[i].Class = min(i%55, i%10)
		}
		b.Run("start/spread="+spread, func(b *testing.B) {
			view := w.view()
			for b.Loop() {
				Place(view, -1)
			}
		})
		w.apply(b, Place(w.view(), -1))
		for i := range w.items {
			if w.items[i].Owner == 7 {
				w.items[i].Owner = -1
			}
		}
		w.members[7].Draining = true
		b.Run("leave/spread="+spread, func(b *testing.B) {
			view := w.view()
			moves := 0
			for b.Loop() {
				moves = started(Place(view, -1))
			}
			b.ReportMetric(float64(moves), "moves")
		})
	}
}

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
