package view

import (
	"cmp"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// Job is one job as people see it.
type Job struct {
	Job       string    `json:"job"`
	State     string    `json:"state"` // pending, paused, running, completed, killed, failed
	SinceMS   int64     `json:"since_ms"`
	Source    string    `json:"source,omitempty"` // who defined it; absent where a client submitted it
	Version   string    `json:"version,omitempty"`
	Scheduler string    `json:"scheduler,omitempty"` // how its slots are shared among its tasks; absent where none runs on slots
	Message   string    `json:"message,omitempty"`   // why it failed
	Reason    *Reason   `json:"reason,omitempty"`    // why it has no slot
	PausedBy  string    `json:"paused_by,omitempty"` // who paused it
	PausedMS  int64     `json:"paused_ms,omitempty"`
	Tasks     []JobTask `json:"tasks"`                // in the order in which they are served
	Flow      *Flow     `json:"flow,omitempty"`       // how far its segments are, of a job whose tasks hand on some; where one job is asked for
	FlowError string    `json:"flow_error,omitempty"` // why that cannot be said now
}

// JobTask is one task of a job.
type JobTask struct {
	Task       string     `json:"task"` // job, or job/task
	Type       string     `json:"type"`
	Spread     string     `json:"spread"`
	State      string     `json:"state"` // done, parked, owner silent, backing off, failing, running, moving, waiting, paused, blocked, held; or the state of the job that ended before
	After      []string   `json:"after,omitempty"`
	Partitions TaskCounts `json:"partitions"`         // of a task of spread pool: what runs on slots
	Slots      []string   `json:"slots,omitempty"`    // that it runs on, member:number
	Message    string     `json:"message,omitempty"`  // of the last failure of a partition that has not run well since
	Failures   int64      `json:"failures,omitempty"` // in a row, of that partition
	Reason     *Reason    `json:"reason,omitempty"`   // why the task or one of its partitions does not run
}

// Done is the state of a task that is finished.
const Done = "done"

// Ended tells whether nothing of the job will run any more.
func (j *Job) Ended() bool {
	return j.State != cluster.JobPending.String() && j.State != cluster.JobRunning.String() && j.State != Paused
}

// Count tells how many of the tasks are in a state.
func (j *Job) Count(state string) (n int) {
	for i := range j.Tasks {
		if j.Tasks[i].State == state {
			n++
		}
	}
	return n
}

// Jobs shows the jobs that keep accepts, sorted by name, without those of Rota itself; nil accepts all.
func (s Sight) Jobs(keep func(cluster.Job) bool) []Job {
	l := newJobs(s)
	for j := range s.v.Jobs() {
		if !cluster.PartitionID(j.ID).Reserved() && (keep == nil || keep(j)) {
			l.add(j)
		}
	}
	return l.finish()
}

// Job shows one job.
func (s Sight) Job(id cluster.JobID) (Job, bool) {
	j, ok := s.v.Job(id)
	if !ok {
		return Job{}, false
	}
	l := newJobs(s)
	l.add(j)
	return l.finish()[0], true
}

// jobs is a list of jobs being made.
type jobs struct {
	sight Sight
	v     cluster.Value
	tasks map[cluster.PartitionID]*JobTask // by job/task
	why   map[cluster.PartitionID]cluster.PartitionID
	out   []Job
}

func newJobs(s Sight) *jobs {
	return &jobs{
		sight: s, v: s.v, tasks: make(map[cluster.PartitionID]*JobTask), out: []Job{},
		why: make(map[cluster.PartitionID]cluster.PartitionID),
	}
}

// add begins with what stands in the spec.
func (s *jobs) add(j cluster.Job) {
	state, _ := s.v.JobState(j.ID)
	shown := Job{
		Job: string(j.ID), State: state.String(), SinceMS: j.SinceMS, Source: j.Spec.Source, Version: j.Spec.Version,
		Message: j.Message, Tasks: []JobTask{},
	}
	if j.Paused() {
		shown.State, shown.PausedBy, shown.PausedMS = Paused, j.PausedBy, j.PausedMS
		shown.SinceMS = j.PausedMS
	}
	for t := range j.TaskOrder() {
		shown.Tasks = append(shown.Tasks, JobTask{
			Task: string(cluster.NewPartitionID(j.ID, t.Name, "")), Type: t.Type, Spread: t.Spread.String(),
			After: before(j.Spec, t.Name),
		})
		if t.Spread == cluster.SpreadPool {
			shown.Scheduler = j.Spec.Scheduler.String()
		}
	}
	s.out = append(s.out, shown)
	for i := range shown.Tasks {
		s.tasks[cluster.PartitionID(shown.Tasks[i].Task)] = &shown.Tasks[i]
	}
}

// before lists the tasks that a task takes from.
func before(s *cluster.JobSpec, task string) (out []string) {
	for _, e := range s.Edges {
		if e.To == task {
			out = append(out, e.From)
		}
	}
	slices.Sort(out)
	return out
}

// finish counts the partitions, in one go for all jobs, and says why what waits does.
func (s *jobs) finish() []Job {
	for p := range s.v.Partitions() {
		job, task, _ := p.ID.Split()
		if t, ok := s.tasks[cluster.NewPartitionID(job, task, "")]; ok {
			s.count(t, p)
		}
	}
	reasons := s.reasons()
	for i := range s.out {
		j := &s.out[i]
		j.Reason = reasons[j.Job]
		if j.PausedBy != "" {
			j.Reason = &Reason{Rule: Paused, Text: "paused by " + j.PausedBy, Try: "rota job resume " + j.Job}
		}
		finished := s.slots(j)
		for k := range j.Tasks {
			t := &j.Tasks[k]
			t.State = s.state(j, t, finished[t.Task])
			if p, ok := s.why[cluster.PartitionID(t.Task)]; ok {
				t.Reason = reasonOf(s.v, p)
			}
			if r := reasons[t.Task]; r != nil {
				t.Reason = r
			}
		}
	}
	return s.out
}

// count adds one partition. The first that does not run is the one whose reason is shown.
func (s *jobs) count(t *JobTask, p cluster.Partition) {
	one := s.sight.state(p)
	t.Partitions.add(one)
	failures, message := p.Attempts, p.Message
	if one == Failing || one == BackingOff {
		r := s.sight.runs[p.ID]
		failures, message = max(failures, r.Failures), cmp.Or(r.Message, message)
	}
	if failures > t.Failures {
		t.Failures, t.Message = failures, message
	}
	if p.Slot != 0 {
		return // the task as a whole has a reason
	}
	switch p.State {
	case cluster.PartitionGranted, cluster.PartitionAdopting, cluster.PartitionFinished:
	default:
		id := cluster.PartitionID(t.Task)
		if _, ok := s.why[id]; !ok {
			s.why[id] = p.ID
		}
	}
}

// reasons are those of what waits for slots: jobs and tasks. What stands for the whole job is not said again of its
// tasks.
func (s *jobs) reasons() map[string]*Reason {
	out := make(map[string]*Reason)
	for _, w := range s.v.WaitingForSlots() {
		out[w.Item] = new(Reason(w.Reason))
	}
	return out
}

// slots fills in the slots of the tasks and tells which of spread pool are finished.
func (s *jobs) slots(j *Job) (finished map[string]bool) {
	finished = make(map[string]bool)
	for _, ts := range s.v.JobSlots(cluster.JobID(j.Job)) {
		id := cluster.NewPartitionID(cluster.JobID(j.Job), ts.Task, "")
		finished[string(id)] = ts.Finished
		for _, slot := range ts.Slots {
			s.tasks[id].Slots = append(s.tasks[id].Slots, slot.String())
		}
	}
	return finished
}

// state sums up the partitions of a task: the state that needs a person most comes first.
func (s *jobs) state(j *Job, t *JobTask, finished bool) string {
	c := t.Partitions
	switch {
	case finished || c.Total > 0 && c.Finished == c.Total:
		return Done
	case j.Ended():
		return j.State
	case c.Parked > 0:
		return cluster.PartitionParked.String()
	case c.Silent > 0:
		return OwnerSilent
	case c.BackingOff > 0:
		return BackingOff
	case c.Failing > 0:
		return Failing
	case c.Running > 0:
		return Running
	case c.Moving > 0:
		return Moving
	case c.Held > 0:
		return cluster.PartitionHeld.String()
	case j.PausedBy != "":
		return Paused
	case c.Blocked > 0:
		return cluster.PartitionBlocked.String()
	}
	return cluster.PartitionWaiting.String()
}
