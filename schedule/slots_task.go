package schedule

// divide shares the slots of a job among its tasks, into out.
func (s *sharing) divide(job *Job, slots int64, out []int64) {
	if job.Scheduler == TasksRoundRobin && !job.Protected && s.divideEvenly(job, slots, out) {
		return
	}
	s.claimTasks(job, slots)
	if job.Scheduler == TasksGreedy {
		s.fillInTurn(slots)
	} else {
		more := fill(s.tasks, slots, stepOf(job.Scheduler == TasksPercentage))
		s.among.choose(s.tasks, more, func(i int) int64 {
			if s.tasks[i].held > s.tasks[i].got {
				return -1
			}
			return 0
		})
	}
	i := 0
	for t := range job.Tasks {
		out[t] = 0
		if !job.Tasks[t].Finished {
			out[t] = s.tasks[i].got
			i++
		}
	}
}

// claimTasks sets up a claim for each unfinished task. Where the job is not protected, minima are served as far as the slots go, the
// earliest first, and a task that names none has none.
func (s *sharing) claimTasks(job *Job, slots int64) {
	s.tasks = s.tasks[:0]
	left := slots
	for t := range job.Tasks {
		task := &job.Tasks[t]
		if task.Finished {
			continue
		}
		c := claim{lo: max(0, task.Min), hi: slots, held: int64(len(task.Held))}
		if job.Protected {
			c.lo = max(1, c.lo)
		}
		if task.Max > 0 {
			c.hi = max(1, task.Min, task.Max)
		}
		if job.Scheduler == TasksPercentage {
			c.head = due(slots, task.Percent)
		}
		c.lo = min(c.lo, left)
		left -= c.lo
		s.tasks = append(s.tasks, c)
	}
}

// fillInTurn is the greedy task scheduler.
func (s *sharing) fillInTurn(slots int64) {
	for i := range s.tasks {
		s.tasks[i].got = s.tasks[i].lo
		slots -= s.tasks[i].lo
	}
	for i := range s.tasks {
		c := &s.tasks[i]
		more := min(slots, max(0, c.hi-c.got))
		c.got += more
		slots -= more
	}
}

// divideEvenly is fill where no task has limits; false if one has.
func (s *sharing) divideEvenly(job *Job, slots int64, out []int64) bool {
	live, above := int64(0), int64(0)
	for t := range job.Tasks {
		if task := &job.Tasks[t]; !task.Finished {
			live++
			if task.Min > 0 || task.Max > 0 {
				return false
			}
		}
	}
	if live == 0 {
		return false
	}
	each, more := slots/live, slots%live
	for t := range job.Tasks {
		if task := &job.Tasks[t]; !task.Finished && int64(len(task.Held)) > each {
			above++
		}
	}
	keep := min(above, more) // first those that give up a slot less by it
	more -= keep
	for t := range job.Tasks {
		task := &job.Tasks[t]
		out[t] = 0
		if task.Finished {
			continue
		}
		out[t] = each
		switch has := int64(len(task.Held)) > each; {
		case has && keep > 0:
			out[t]++
			keep--
		case !has && more > 0:
			out[t]++
			more--
		}
	}
	return true
}
