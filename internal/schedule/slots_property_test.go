package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The properties of Allocate hold in any world, reached or not. `make properties` tries 10,000 worlds for each.

// drawPool draws a world of slots in which nothing was planned yet: who holds what is arbitrary.
func drawPool(t *rapid.T, members, slots, jobs, tasks int) *slotWorld {
	w := &slotWorld{scheduler: rapid.SampledFrom([]JobScheduler{JobsGreedy, JobsRoundRobin, JobsRoundRobin,
		JobsPercentage}).Draw(t, "jobs by")}
	for m := range rapid.IntRange(0, members).Draw(t, "members") {
		w.addMember(fmt.Sprintf("m%d", m), rapid.Int64Range(0, int64(slots)).Draw(t, "slots"))
	}
	percent := int64(100)
	for j := range rapid.IntRange(0, jobs).Draw(t, "jobs") {
		w.submit(drawJob(t, j, tasks, &percent))
	}
	for j := range w.jobs {
		w.jobs[j].Passed = w.jobs[j].Protected && rapid.IntRange(0, 3).Draw(t, "passed") == 0
	}
	w.drawHeld(t)
	return w
}

func drawJob(t *rapid.T, j, tasks int, percent *int64) Job {
	job := Job{ID: fmt.Sprintf("j%d", j), Protected: rapid.IntRange(0, 2).Draw(t, "protected") == 0}
	job.Percent = min(*percent, rapid.SampledFrom([]int64{0, 1, 10, 25, 25, 33, 50, 70}).Draw(t, "percent"))
	*percent -= job.Percent
	job.Scheduler = TaskScheduler(rapid.IntRange(0, 2).Draw(t, "tasks by"))
	left := int64(100)
	for k := range rapid.IntRange(1, tasks).Draw(t, "tasks") {
		task := Task{Name: fmt.Sprintf("t%d", k), Min: rapid.SampledFrom([]int64{0, 0, 0, 1, 2}).Draw(t, "min")}
		task.Max = rapid.SampledFrom([]int64{0, 0, 1, 2, 5}).Draw(t, "max")
		task.Percent = min(left, rapid.SampledFrom([]int64{0, 10, 20, 20, 50, 60}).Draw(t, "task percent"))
		left -= task.Percent
		task.Finished = rapid.IntRange(0, 4).Draw(t, "finished") == 0
		job.Tasks = append(job.Tasks, task)
	}
	return job
}

// drawHeld lets each slot be free or held by any task, finished ones too.
func (w *slotWorld) drawHeld(t *rapid.T) {
	var posts []*Task
	for j := range w.jobs {
		for k := range w.jobs[j].Tasks {
			posts = append(posts, &w.jobs[j].Tasks[k])
		}
	}
	for _, s := range w.slots {
		if at := rapid.IntRange(-1, len(posts)-1).Draw(t, "held"); at >= 0 {
			posts[at].Held = append(posts[at].Held, Held{s, w.tick()})
		}
	}
}

// limits are what the shares of a job must keep to, read the dumb way.
func limits(j *Job) (lo, hi int64, live bool) {
	for _, task := range j.Tasks {
		if task.Finished {
			continue
		}
		live = true
		lo += max(1, task.Min)
		if task.Max == 0 || hi == math.MaxInt64 {
			hi = math.MaxInt64
		} else {
			hi += max(task.Max, task.Min, 1)
		}
	}
	return lo, hi, live
}

// The shares come to all that is usable, or to all that the covered jobs can use; no share is above a maximum.
func TestSlotsSumsAndMaxima(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 8, 5)
		a := Allocate(w.pool())
		if a.Usable != int64(len(w.slots)) {
			rt.Fatalf("usable %d of %d", a.Usable, len(w.slots))
		}
		want := int64(0)
		for j := range w.jobs {
			_, hi, live := limits(&w.jobs[j])
			share := &a.Shares[j]
			if live && !share.Uncovered {
				want = min(a.Usable, want+min(hi, a.Usable))
			}
			sum := int64(0)
			for k, n := range share.Tasks {
				sum += n
				if task := &w.jobs[j].Tasks[k]; n < 0 || task.Finished && n > 0 || task.Max > 0 &&
					n > max(task.Max, task.Min, 1) {
					rt.Fatalf("%s/%s gets %d", w.jobs[j].ID, task.Name, n)
				}
			}
			if sum != share.Slots || share.Slots > hi || !live && sum > 0 {
				rt.Fatalf("%s gets %d, its tasks %v", w.jobs[j].ID, share.Slots, share.Tasks)
			}
		}
		if a.Given() != want {
			rt.Fatalf("%d slots are given of %d, %d can be used", a.Given(), a.Usable, want)
		}
	})
}

// A protected job gets nothing, or the minimum of each of its unfinished tasks.
func TestSlotsCoverageIsAllOrNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 8, 5)
		a := Allocate(w.pool())
		for j := range w.jobs {
			lo, _, live := limits(&w.jobs[j])
			share := &a.Shares[j]
			if !w.jobs[j].Protected || !live {
				if share.Uncovered || share.Passed {
					rt.Fatalf("%s is not protected, or has nothing to do: %+v", w.jobs[j].ID, share)
				}
				continue
			}
			if share.Uncovered != (share.Slots == 0) || share.Uncovered != (share.Offered < lo) || share.Passed &&
				!share.Uncovered {
				rt.Fatalf("%s needs %d: %+v", w.jobs[j].ID, lo, share)
			}
			for k, n := range share.Tasks {
				if task := &w.jobs[j].Tasks[k]; share.Slots > 0 && !task.Finished && n < max(1, task.Min) {
					rt.Fatalf("%s/%s gets %d", w.jobs[j].ID, task.Name, n)
				}
			}
		}
	})
}

// A protected job that has a place is not uncovered by a job that comes behind it: neither submitted nor come back.
func TestSlotsNewcomersUncoverNobody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 6, 4)
		w.plan(t)
		before := Allocate(w.pool())
		n := len(w.jobs)
		percent := int64(100)
		w.submit(drawJob(rt, 99, 4, &percent))
		after := Allocate(w.pool())
		for j := range n {
			if w.jobs[j].Protected && before.Shares[j].Slots > 0 && after.Shares[j].Slots == 0 {
				rt.Fatalf("%s lost its coverage to a newcomer", w.jobs[j].ID)
			}
		}
	})
}

// The same content in another order gives the same plan.
func TestSlotsPermuted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 8, 5)
		p := w.pool()
		p.Busy = rapid.Int64Range(0, 3).Draw(rt, "busy")
		a := Allocate(p)
		q := &Pool{Scheduler: p.Scheduler, Jobs: slices.Clone(p.Jobs), Free: slices.Clone(p.Free), Busy: p.Busy}
		seed := rapid.Uint64().Draw(rt, "seed")
		rnd := rand.New(rand.NewPCG(seed, 1))
		rnd.Shuffle(len(q.Free), func(i, j int) { q.Free[i], q.Free[j] = q.Free[j], q.Free[i] })
		rnd.Shuffle(len(q.Jobs), func(i, j int) { q.Jobs[i], q.Jobs[j] = q.Jobs[j], q.Jobs[i] })
		for j := range q.Jobs {
			q.Jobs[j].Tasks = slices.Clone(q.Jobs[j].Tasks)
			for k := range q.Jobs[j].Tasks {
				held := slices.Clone(q.Jobs[j].Tasks[k].Held)
				rnd.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
				q.Jobs[j].Tasks[k].Held = held
			}
		}
		b := Allocate(q)
		if x, y := planText(&a, p), planText(&b, q); x != y {
			rt.Fatalf("as drawn:\n%s\nshuffled:\n%s", x, y)
		}
	})
}

// planText is a plan by names.
func planText(a *Allocation, p *Pool) (out string) {
	for _, j := range a.Order {
		share := a.Shares[j]
		out += fmt.Sprintf("%s %d %v %v %v %d\n", p.Jobs[j].ID, share.Slots, share.Tasks, share.Uncovered, share.Passed,
			share.Offered)
	}
	for _, m := range a.Moves {
		out += fmt.Sprintf("%s %s → %s\n", m.Slot, postText(p, m.From), postText(p, m.To))
	}
	return out + fmt.Sprint(a.Usable, a.Lacking)
}

func postText(p *Pool, at Post) string {
	if at == NoPost {
		return "nobody"
	}
	return p.Jobs[at.Job].ID + "/" + p.Jobs[at.Job].Tasks[at.Task].Name
}

// Planning again changes nothing, whatever happened before.
func TestSlotsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 8, 5)
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			before := w.plan(t)
			if again := w.plan(t); len(again.Moves) > 0 || fmt.Sprint(shares(&before)) != fmt.Sprint(shares(&again)) {
				rt.Fatalf("planning again: %v, then %v, moves %+v", shares(&before), shares(&again), again.Moves)
			}
			w.drawChange(rt)
		}
	})
}

func shares(a *Allocation) (out [][]int64) {
	for i := range a.Shares {
		out = append(out, a.Shares[i].Tasks)
	}
	return out
}

func (w *slotWorld) drawChange(t *rapid.T) {
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") }
	switch change := rapid.IntRange(0, 4).Draw(t, "change"); {
	case change == 0:
		w.addMember(fmt.Sprintf("n%d", w.tick()), 2)
	case change == 1 && len(w.slots) > 0:
		w.dropMember(w.slots[pick(len(w.slots))].Member)
	case change == 2 && len(w.jobs) > 0:
		at := pick(len(w.jobs))
		w.jobs = slices.Delete(w.jobs, at, at+1)
	case change == 3 && len(w.jobs) > 0:
		tasks := w.jobs[pick(len(w.jobs))].Tasks
		at := pick(len(tasks))
		tasks[at].Finished, tasks[at].Held = true, nil
	default:
		percent := int64(0)
		w.submit(drawJob(t, 100+int(w.tick()), 4, &percent))
	}
}

// With no job waiting for its minimum, and equal percentages, killing a job takes nothing from any other. (Unequal
// percentages have ties that the order of the jobs settles, and the killed one had its place in it.)
func TestSlotsKillTouchesItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 6, 4)
		for j := range w.jobs {
			w.jobs[j].Protected, w.jobs[j].Passed, w.jobs[j].Percent = false, false, 16
			if w.jobs[j].Scheduler == TasksPercentage {
				w.jobs[j].Scheduler = TasksRoundRobin
			}
		}
		w.plan(t)
		if len(w.jobs) == 0 {
			return
		}
		at := rapid.IntRange(0, len(w.jobs)-1).Draw(rt, "killed")
		w.jobs = slices.Delete(w.jobs, at, at+1)
		for _, m := range Allocate(w.pool()).Moves {
			if m.From != NoPost {
				rt.Fatalf("%s leaves %s", m.Slot, w.jobs[m.From.Job].ID)
			}
		}
	})
}

// Round-robin, no limits: a slot that is lost moves one other at most.
func TestSlotsOneLostMovesOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 6, 4, 6, 4)
		w.scheduler = JobsRoundRobin
		for j := range w.jobs {
			w.jobs[j].Protected, w.jobs[j].Passed, w.jobs[j].Scheduler = false, false, TaskScheduler(j%2)
			for k := range w.jobs[j].Tasks {
				w.jobs[j].Tasks[k].Min, w.jobs[j].Tasks[k].Max = 0, 0
			}
		}
		w.plan(t)
		if len(w.slots) == 0 {
			return
		}
		lost := rapid.SampledFrom(w.slots).Draw(rt, "lost")
		w.dropSlots(func(s Slot) bool { return s == lost })
		a := Allocate(w.pool())
		if len(a.Moves) > 1 {
			rt.Fatalf("moves %+v", a.Moves)
		}
	})
}

// Whatever the numbers, there is a plan, and it gives no more than there is.
func TestSlotsAnyNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 4, 3, 4, 3)
		wild := rapid.OneOf(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 100, 101, math.MaxInt64}), rapid.Int64())
		p := w.pool()
		p.Busy = rapid.SampledFrom([]int64{-5, 0, 7}).Draw(rt, "busy")
		p.Scheduler = JobScheduler(rapid.Byte().Draw(rt, "jobs by"))
		for j := range p.Jobs {
			p.Jobs[j].Percent, p.Jobs[j].Since, p.Jobs[j].Submitted = wild.Draw(rt, "percent"),
				rapid.Uint64().Draw(rt, "since"), rapid.Uint64().Draw(rt, "submitted")
			p.Jobs[j].Scheduler = TaskScheduler(rapid.Byte().Draw(rt, "tasks by"))
			for k := range p.Jobs[j].Tasks {
				task := &p.Jobs[j].Tasks[k]
				task.Min, task.Max, task.Percent = wild.Draw(rt, "min"), wild.Draw(rt, "max"),
					wild.Draw(rt, "task percent")
			}
		}
		a := Allocate(p)
		if given := a.Given(); given < 0 || given > a.Usable {
			rt.Fatalf("%d slots are given of %d", given, a.Usable)
		}
		for j := range p.Jobs {
			a.WhyJob(p, j)
			for k := range p.Jobs[j].Tasks {
				a.WhyTask(p, Post{j, k})
			}
		}
		a.WhyIdle(p)
	})
}

// From nothing, the slots of a task on two members differ by at most one, unless the one with fewer has no slot left
// for it.
func TestSlotsAreSpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawPool(rt, 5, 5, 1, 1)
		for j := range w.jobs {
			w.jobs[j].Tasks[0].Held = nil
		}
		w.plan(t)
		has, used := make(map[string]int), make(map[string]int)
		for _, s := range w.slots {
			has[s.Member]++
		}
		for j := range w.jobs {
			for _, h := range w.jobs[j].Tasks[0].Held {
				used[h.Member]++
			}
		}
		for m := range has {
			for o := range has {
				if used[m] > used[o]+1 && used[o] < has[o] {
					rt.Fatalf("%s has %d, %s has %d of %d", m, used[m], o, used[o], has[o])
				}
			}
		}
	})
}

// Slots that become free one at a time, as they do in a cluster, end as well spread: no two of a task lie on one member
// while another member has none of it and runs two of some other task.
func TestSlotsThatComeLaterAreSpread(t *testing.T) {
	t.Parallel()
	w := &slotWorld{}
	for _, m := range []string{"a", "b", "c", "d"} {
		w.addMember(m, 4)
	}
	job := Job{ID: "j", Tasks: []Task{{Name: "t1"}, {Name: "t2"}, {Name: "t3"}, {Name: "t4"}}}
	w.submit(job)
	for free := range len(w.slots) {
		p := &Pool{Jobs: w.jobs, Free: w.slots[free : free+1], Busy: int64(len(w.slots) - free - 1)}
		a := Allocate(p)
		if len(a.Moves) != 1 || a.Lacking != p.Busy {
			t.Fatalf("%d moves, %d lack, %d busy", len(a.Moves), a.Lacking, p.Busy)
		}
		w.move(t, a.Moves[0], w.tick())
	}
	for _, task := range w.jobs[0].Tasks {
		on := make(map[string]int)
		for _, h := range task.Held {
			on[h.Member]++
		}
		if len(on) != 4 {
			t.Errorf("%s lies on %v", task.Name, on)
		}
	}
}
