package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
)

// Task is one partition as people see it; most tasks have just one.
type Task struct {
	Task     string `json:"task"` // the partition's name: job, job/task, job#key
	Type     string `json:"type"`
	State    string `json:"state"`           // running, failing, backing off, owner silent, moving, waiting, paused, parked, blocked, held, finished
	Owner    string `json:"owner,omitempty"` // who runs it, or has yet to stop
	Next     string `json:"next,omitempty"`  // moving: who gets it
	Token    uint64 `json:"token,omitempty"`
	SinceMS  int64  `json:"since_ms"`
	From     string `json:"from,omitempty"`     // former owner
	Cause    string `json:"cause,omitempty"`    // why it came to its owner
	Failures int64  `json:"failures,omitempty"` // failing: of its rounds; else runs in a row
	Rounds   int64  `json:"rounds,omitempty"`   // failing: since it was started on its owner
	Message  string `json:"message,omitempty"`  // of the last failure
	// FailingMS is when the first round failed of those that have failed in a row, and AsOfMS how old is what the owner
	// says of it, both by the owner's clock.
	FailingMS int64   `json:"failing_ms,omitempty"`
	AsOfMS    int64   `json:"as_of_ms,omitempty"`
	Reason    *Reason `json:"reason,omitempty"` // why it has no running owner
	Own       bool    `json:"own,omitempty"`    // Rota's own: a source of tasks
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

// TaskStates are those that a list of tasks can be asked for. A state of two words has a hyphen here.
func TaskStates() []string {
	return []string{
		"running", "failing", "backing-off", "owner-silent", "moving", "offered", "waiting", "paused", "parked",
		"blocked", "held", "finished",
	}
}

// Filter says which tasks are shown. Its zero value shows all but Rota's own.
type Filter struct {
	State string // "" for any; one of two words may be written with a hyphen: backing-off
	Owner string // "" for any
	Own   bool   // also Rota's own: sources of tasks
}

// Shows tells whether a partition passes.
func (s Sight) Shows(f Filter, p cluster.Partition) bool {
	return (f.Own || !p.ID.Reserved()) && (f.Owner == "" || string(p.Owner) == f.Owner) &&
		(f.State == "" || s.state(p) == strings.ReplaceAll(f.State, "-", " "))
}

// Tasks shows the partitions that pass, sorted by name. Reasons are not filled in: see [Sight.Why].
func (s Sight) Tasks(f Filter) []Task {
	out := []Task{}
	for p := range s.v.Partitions() {
		if s.Shows(f, p) {
			out = append(out, s.Task(p))
		}
	}
	return out
}

// taskOf shows one partition, or one task of spread pool as a whole, with its reason.
func (s Sight) taskOf(id cluster.PartitionID) (Task, bool) {
	p, ok := s.v.Partition(id)
	if !ok {
		t, ok := poolTaskOf(s.v, id)
		if t.State == Running {
			s.ail(&t)
		}
		return t, ok
	}
	t := s.Task(p)
	t.Reason = reasonOf(s.v, p.ID)
	return t, true
}

// ail says of a task on slots what its job says of it: that a run fails, or that nobody hears of its owner.
func (s Sight) ail(t *Task) {
	id, _, _ := cluster.PartitionID(t.Task).Split()
	job, _ := s.Job(id)
	for i := range job.Tasks {
		whole := &job.Tasks[i]
		if whole.Task == t.Task && slices.Contains([]string{OwnerSilent, BackingOff, Failing}, whole.State) {
			t.State, t.Message, t.Failures = whole.State, whole.Message, whole.Failures
		}
	}
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
		t := Task{Task: string(id), Type: spec.Type, State: "waiting", SinceMS: j.SinceMS, Message: j.Message,
			Reason: reasonOf(v, id), Own: id.Reserved()}
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

// Task shows one partition.
func (s Sight) Task(p cluster.Partition) Task {
	t := Task{
		Task: string(p.ID), State: s.state(p), Owner: string(p.Owner), Next: string(p.Next), Token: uint64(p.Token),
		SinceMS: p.ChangedMS, From: string(p.From), Cause: p.Cause, Failures: p.Attempts, Message: p.Message,
		Own: p.ID.Reserved(),
	}
	if t.State == Failing || t.State == BackingOff {
		r := s.runs[p.ID]
		t.Rounds, t.Failures, t.FailingMS, t.AsOfMS = r.Rounds, max(t.Failures, r.Failures), r.SinceMS, r.asOfMS
		t.Message = cmp.Or(r.Message, t.Message)
	}
	id, task, _ := p.ID.Split()
	if job, ok := s.v.Job(id); ok {
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
		id, _, _ := p.ID.Split()
		if j, ok := v.Job(id); ok && j.Paused() {
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

func reasonOf(v cluster.Value, id cluster.PartitionID) *Reason {
	r := v.Why(id)
	if r == (cluster.Reason{}) {
		return nil
	}
	if label, ok := strings.CutPrefix(r.Rule, "labels: "+directory.LabelKey("")); ok { // nobody sets it by hand
		r.Rule, r.Text = "source", "no member has the source "+strings.TrimSuffix(label, "=yes")
		r.Try = "start a member that has it, or end its tasks; how many: rota source list"
	}
	return new(Reason(r))
}
