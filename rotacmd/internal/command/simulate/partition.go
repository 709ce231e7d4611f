package simulate

import (
	"cmp"

	"github.com/rota-run/rota/cluster"
)

// partition finds what is meant by a partition, or by a task of spread pool: then one of its slots speaks for it.
func (w *World) partition(name string) (p cluster.Partition, ok bool) {
	if p, ok = w.v.Partition(cluster.PartitionID(name)); ok {
		return p, true
	}
	job, task, key := cluster.PartitionID(name).Split()
	if key != "" { // a slot that is gone: no other one speaks for it
		return cluster.Partition{ID: cluster.PartitionID(name)}, false
	}
	for _, t := range w.v.JobSlots(job) {
		if (t.Task == task || task == "" && len(w.v.JobSlots(job)) == 1) && len(t.Slots) > 0 {
			return w.v.Partition(cluster.NewPartitionID(job, t.Task, t.Slots[0].String()))
		}
	}
	return cluster.Partition{ID: cluster.PartitionID(name)}, false
}

// owner plays what owners of partitions write. What the value should refuse can be said too: by naming a token, or a
// partition that is gone.
func (w *World) owner(l *Line) error {
	return l.each("the names of partitions or tasks", func(name string) error {
		p, ok := w.partition(name)
		if !ok && !l.has("token") {
			w.written = append(w.written, Written{Command: l.Name + " " + name, Reason: w.nothingOf(name)})
			return nil
		}
		c, err := l.says(p)
		if err != nil {
			return err
		}
		w.write("", c)
		return nil
	}, "fresh")
}

// says is what the owner of the partition writes.
func (l *Line) says(p cluster.Partition) (cluster.Command, error) {
	token, attempt, step := int64(p.Token), p.Attempts, p.Step
	if l.Name == "started" {
		token = int64(p.NextToken)
	}
	if err := l.numbers(field{"token", &token}, field{"attempt", &attempt}, field{"step", &step}); err != nil {
		return nil, err
	}
	t := cluster.Token(token)
	switch l.Name {
	case "finish":
		return cluster.FinishPartition{Partition: p.ID, Token: t}, nil
	case "fail":
		return cluster.FinishPartition{Partition: p.ID, Token: t, Outcome: cluster.OutcomeFailed, Attempt: attempt,
			Fresh: l.has("fresh"), Message: l.text("message")}, nil
	case "split":
		return cluster.SplitPartition{Partition: p.ID, Token: t, Children: l.children(p.ID), Done: l.values("done")},
			nil
	case "advance":
		c := cluster.AdvanceWindow{Partition: p.ID, Token: t, Step: step, Cursor: []byte(l.text("cursor")),
			Done: l.values("done")}
		for _, key := range l.values("items") {
			c.Items = append(c.Items, cluster.Item{Key: key, Input: []byte("input " + key)})
		}
		return c, nil
	case "unpark":
		return cluster.UnparkPartition{Partition: p.ID}, nil
	case "started":
		return cluster.Started{Partition: p.ID, Token: t}, nil
	}
	return cluster.Stopped{Partition: p.ID, Token: t}, nil
}

func (w *World) nothingOf(name string) string {
	job, task, key := cluster.PartitionID(name).Split()
	state, ok := w.v.JobState(job)
	if !ok {
		return "there is no " + name
	}
	for p := range w.v.Partitions() {
		if of, t, _ := p.ID.Split(); key == "" && of == job && (t == task || task == "") && p.Owner != "" {
			return name + " is several partitions: name one, such as " + string(p.ID)
		}
	}
	return "nothing of " + name + " runs; its job is " + state.String()
}

func (w *World) scheduler(l *Line) error {
	name, err := l.one("greedy, round-robin or percentage")
	if err == nil {
		w.write("", cluster.Configure{JobScheduler: name})
	}
	return err
}

func (w *World) configure(l *Line) error {
	c := cluster.Configure{JobScheduler: l.text("scheduler")}
	if err := l.numbers(field{"budget", &c.MoveBudget}, field{"retention", &c.Retention}); err != nil {
		return err
	}
	w.write("", c)
	return nil
}

// rebalance evens the load of a pinned cluster.
func (w *World) rebalance(*Line) error {
	w.write("", cluster.Rebalance{})
	return nil
}

// pause lets nobody do anything by itself; with names, it pauses these jobs.
func (w *World) pause(l *Line) error {
	if len(l.words) == 0 {
		w.paused = true
		return nil
	}
	by := cmp.Or(l.text("by"), "script")
	return w.ofJobs(l, func(job cluster.JobID) cluster.Command { return cluster.PauseJob{Job: job, By: by} })
}

// resume ends a pause, that of the play or those of jobs.
func (w *World) resume(l *Line) error {
	if len(l.words) == 0 {
		w.paused = false
		return nil
	}
	return w.ofJobs(l, func(job cluster.JobID) cluster.Command { return cluster.ResumeJob{Job: job} })
}

func (w *World) ofJobs(l *Line, command func(cluster.JobID) cluster.Command) error {
	return l.each("the names of jobs", func(name string) error {
		w.write("", command(cluster.JobID(name)))
		return nil
	})
}

// control is about the play and not about the cluster. What show asks for every report shows.
func (w *World) control(l *Line) error {
	switch l.Name {
	case "settle":
		w.settle()
	case "step":
		w.step(l.words...)
	case "sweep":
		w.sweep()
	case "reset":
		*w = *New(w.stride > 1)
	}
	return nil
}
