package api

import (
	"strings"

	"github.com/rota-run/rota/cluster"
)

// Task is one partition as people see it; most tasks have just one.
type Task struct {
	Task     string  `json:"task"` // the partition's name: job, job/task, job#key
	Type     string  `json:"type"`
	State    string  `json:"state"`           // running, failing, backing off, owner silent, moving, waiting, paused, parked, blocked, held, finished
	Owner    string  `json:"owner,omitempty"` // who runs it, or has yet to stop
	Next     string  `json:"next,omitempty"`  // moving: who gets it
	Token    uint64  `json:"token,omitempty"`
	SinceMS  int64   `json:"since_ms"`
	From     string  `json:"from,omitempty"`     // former owner
	Cause    string  `json:"cause,omitempty"`    // why it came to its owner
	Failures int64   `json:"failures,omitempty"` // failing: of its rounds; else runs in a row
	Rounds   int64   `json:"rounds,omitempty"`   // failing: since it was started on its owner
	Message  string  `json:"message,omitempty"`  // of the last failure
	Reason   *Reason `json:"reason,omitempty"`   // why it has no running owner
	Own      bool    `json:"own,omitempty"`      // Rota's own: a source of tasks
	// Slots are those of a task of spread pool as a whole, member:number, in the order in which they came.
	Slots []string `json:"slots,omitempty"`
}

// Reason is why a task has no running owner.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
	Try  string `json:"try,omitempty"`
}

// The states of a task.
const (
	Running = "running"
	Moving  = "moving"
)

// reserved tells the jobs that Rota submits itself.
func reserved(id cluster.PartitionID) bool { return strings.HasPrefix(string(id), "rota.") }

// TasksOf shows the partitions of a value, sorted by name; with own also those of Rota itself. Reasons are not filled in: see [WhyOf].
func TasksOf(v cluster.Value, own bool) []Task {
	out := []Task{}
	for p := range v.Partitions() {
		if own || !reserved(p.ID) {
			out = append(out, taskOf(v, p))
		}
	}
	return out
}

// TaskOf shows one partition, or one task of spread pool as a whole, with its reason.
func TaskOf(v cluster.Value, id cluster.PartitionID) (Task, bool) {
	p, ok := v.Partition(id)
	if !ok {
		return poolTaskOf(v, id)
	}
	t := taskOf(v, p)
	t.Reason = reasonOf(v, p.ID)
	return t, true
}

// poolTaskOf shows a task of spread pool by all its slots.
func poolTaskOf(v cluster.Value, id cluster.PartitionID) (Task, bool) {
	job, name, _ := id.Split()
	for _, s := range v.JobSlots(job) {
		if cluster.NewPartitionID(job, s.Task, "") != id {
			continue
		}
		j, _ := v.Job(job)
		spec, _ := j.Task(name)
		t := Task{Task: string(id), Type: spec.Type, State: "waiting", SinceMS: j.SinceMS, Message: j.Message, Reason: reasonOf(v, id), Own: reserved(id)}
		for _, slot := range s.Slots {
			t.State, t.Slots = Running, append(t.Slots, slot.String())
		}
		switch {
		case s.Finished:
			t.State = "finished"
		case j.State != cluster.JobRunning:
			t.State = j.State.String()
		case j.Paused() && len(t.Slots) == 0:
			t.State = Paused
		}
		return t, true
	}
	return Task{}, false
}

func taskOf(v cluster.Value, p cluster.Partition) Task {
	t := Task{
		Task: string(p.ID), State: stateOf(v, p), Owner: string(p.Owner), Next: string(p.Next), Token: uint64(p.Token),
		SinceMS: p.ChangedMS, From: string(p.From), Cause: p.Cause, Failures: p.Attempts, Message: p.Message, Own: reserved(p.ID),
	}
	id, task, _ := p.ID.Split()
	if job, ok := v.Job(id); ok {
		if spec, ok := job.Task(task); ok {
			t.Type = spec.Type
		}
	}
	return t
}

// Paused is the state of a task, and of a job, that people have paused.
const Paused = "paused"

// Offered is the state of a task whose owner has yet to accept it.
const Offered = "offered"

func stateOf(v cluster.Value, p cluster.Partition) string {
	switch p.State {
	case cluster.PartitionBlocked, cluster.PartitionWaiting:
		if pausedIn(v, p) {
			return Paused
		}
	case cluster.PartitionGranted:
		if p.Offered {
			return Offered
		}
		return Running
	case cluster.PartitionReleasing, cluster.PartitionAdopting:
		return Moving
	}
	return p.State.String()
}

// pausedIn reports whether a partition has no owner because its job is paused.
func pausedIn(v cluster.Value, p cluster.Partition) bool {
	if p.State != cluster.PartitionBlocked && p.State != cluster.PartitionWaiting {
		return false
	}
	id, _, _ := p.ID.Split()
	j, ok := v.Job(id)
	return ok && j.Paused()
}

func reasonOf(v cluster.Value, id cluster.PartitionID) *Reason {
	r := v.Why(id)
	if r == (cluster.Reason{}) {
		return nil
	}
	return &Reason{Rule: r.Rule, Text: r.Text, Try: r.Try}
}
