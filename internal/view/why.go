package view

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
)

// Why explains one task, or one job.
type Why struct {
	Task
	Handover string            `json:"handover,omitempty"`
	Spread   string            `json:"spread,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"` // that a member must have
	Source   string            `json:"source,omitempty"` // who defined it
	Version  string            `json:"version,omitempty"`
	// LastRoundMS and NextRoundMS are for when the last round that is over and the next one were planned, by the clocks
	// of owners: of a cron line, and of periods of a minute and more. The others are known to the owner alone.
	LastRoundMS int64 `json:"last_round_ms,omitempty"`
	NextRoundMS int64 `json:"next_round_ms,omitempty"`
	// Malformed is what is wrong with the file of a task that runs by an earlier version of it.
	Malformed *Reason `json:"malformed,omitempty"`
	// Partitions and NotRunning explain a task that has several partitions, as a whole: how many are in which state,
	// and the first of those that do not run as they should, at most MaxNotRunning.
	Partitions *TaskCounts `json:"partitions,omitempty"`
	NotRunning []Task      `json:"not_running,omitempty"`
	Tasks      []JobTask   `json:"tasks,omitempty"` // of a job that has several
	// Flow is the state of a task of a flow, and FlowError why it is not known now.
	Flow      *FlowTask        `json:"flow,omitempty"`
	FlowError string           `json:"flow_error,omitempty"`
	History   []journal.Record `json:"history"` // oldest first
}

// MaxNotRunning bounds Why.NotRunning.
const MaxNotRunning = 10

// Gone is the state of a task that the journal knows and the value does not any more.
const Gone = "gone"

// Why explains one partition, one task as a whole, or one job; records are its journal, oldest first. It is false for
// what neither the value nor the records know.
func (s Sight) Why(id cluster.PartitionID, records []journal.Record) (Why, bool) {
	w := Why{History: records}
	if w.History == nil {
		w.History = []journal.Record{}
	}
	t, ok := s.taskOf(id)
	switch {
	case ok:
		w.Task = t
	case w.whole(s, id):
	case len(records) > 0:
		w.Task = formerTask(s.v, id, records)
		return w, true
	default:
		return Why{}, false
	}
	w.Malformed, _ = malformedIn(s.v, records)
	if w.State == OwnerSilent && w.Owner != "" { // of a task as a whole its parts say it
		w.Reason = s.silence(cluster.MemberID(w.Owner))
	}
	w.specify(s.v, id)
	return w, true
}

// Why explains one partition, one task or one job with what the store has of it.
func (w Viewer) Why(ctx context.Context, s Sight, id cluster.PartitionID, records []journal.Record) (Why, bool, error) {
	judged := records
	if w.Lookout != nil && slices.ContainsFunc(records, isMalformed) {
		copies, err := w.copies(ctx, s.v)
		if err != nil {
			return Why{}, false, err
		}
		judged = asRead(copies, records)
	}
	why, ok := s.Why(id, judged)
	if len(records) > 0 {
		why.History = records
	}
	jobID, name, _ := id.Split()
	job, live := s.v.Job(jobID)
	if ok && live && name != "" && w.Queue != nil {
		why.Flow, why.FlowError = w.flowTask(ctx, s.v, jobID, name)
	}
	if !ok || !live || w.Lookout == nil || why.State != Running && why.State != Failing {
		return why, ok, nil
	}
	spec, known := job.Task(name)
	if !known {
		return why, ok, nil
	}
	rounds, err := supervisor.KeptRounds(ctx, w.Lookout.docs, id, spec, time.Now())
	if !rounds.Last.IsZero() {
		why.LastRoundMS = rounds.Last.UnixMilli()
	}
	if !rounds.Next.IsZero() {
		why.NextRoundMS = rounds.Next.UnixMilli()
	}
	return why, ok, err
}

func isMalformed(r journal.Record) bool { return r.Kind == journal.Malformed }

// specify adds what the definition says.
func (w *Why) specify(v cluster.Value, id cluster.PartitionID) {
	jobID, name, _ := id.Split()
	job, ok := v.Job(jobID)
	if !ok {
		return
	}
	w.Source, w.Version = job.Spec.Source, job.Spec.Version
	if spec, ok := job.Task(name); ok {
		w.Handover, w.Spread = spec.Handover.String(), spec.Spread.String()
		w.Labels = make(map[string]string, len(spec.Selector))
		for _, l := range spec.Selector {
			w.Labels[l.Key] = l.Value
		}
	}
}

// formerTask is what only the journal knows: a definition that was never sound, or what is gone.
func formerTask(v cluster.Value, id cluster.PartitionID, records []journal.Record) Task {
	if reason, sinceMS := malformedIn(v, records); reason != nil {
		return Task{Task: string(id), State: Malformed, SinceMS: sinceMS, Reason: reason, Own: id.Reserved()}
	}
	return Task{Task: string(id), State: Gone}
}

// malformedIn is what is wrong with the file of a task, and since when; nil if it is sound.
func malformedIn(v cluster.Value, records []journal.Record) (*Reason, int64) {
	for _, r := range slices.Backward(records) {
		switch r.Kind {
		case journal.Malformed:
			return &Reason{Rule: Malformed, Text: r.Line(), Try: mendFile(v, r)}, r.AtMS
		case journal.Recovered:
			return nil, 0
		}
	}
	return nil, 0
}

// whole explains a task with several partitions, or a job.
func (w *Why) whole(s Sight, id cluster.PartitionID) bool {
	jobID, _, _ := id.Split()
	job, ok := s.Job(jobID)
	if !ok {
		return false
	}
	for i := range job.Tasks {
		if job.Tasks[i].Task == string(id) {
			w.wholeTask(s, &job, &job.Tasks[i])
			return true
		}
	}
	if string(id) != job.Job {
		return false
	}
	w.Task = Task{Task: job.Job, State: job.State, SinceMS: job.SinceMS, Message: job.Message,
		Reason: cmp.Or(job.Reason, endOf(&job))}
	w.Tasks = job.Tasks
	return true
}

func (w *Why) wholeTask(s Sight, job *Job, t *JobTask) {
	w.Task = Task{
		Task: t.Task, Type: t.Type, State: t.State, SinceMS: job.SinceMS, Failures: t.Failures,
		Message: cmp.Or(t.Message, job.Message),
		Reason:  cmp.Or(endOf(job), t.Reason), Own: cluster.PartitionID(t.Task).Reserved(),
	}
	if t.Partitions.Total == 0 {
		return
	}
	w.Partitions = &t.Partitions
	for p := range s.v.Partitions() {
		if id, name, _ := p.ID.Split(); string(cluster.NewPartitionID(id, name, "")) != t.Task {
			continue
		}
		one := s.Task(p)
		if one.State == Running || one.State == cluster.PartitionFinished.String() || len(w.NotRunning) == MaxNotRunning {
			continue
		}
		one.Reason = reasonOf(s.v, p.ID)
		if one.State == OwnerSilent {
			one.Reason = s.silence(p.Owner)
		}
		w.NotRunning = append(w.NotRunning, one)
	}
}

// endOf explains a job that has ended badly.
func endOf(j *Job) *Reason {
	switch j.State {
	case cluster.JobFailed.String():
		return &Reason{Rule: "failed", Text: "job " + j.Job + " failed: " + j.Message,
			Try: "mend what fails, then submit it again"}
	case cluster.JobKilled.String():
		return &Reason{Rule: "killed", Text: "somebody has ended job " + j.Job}
	}
	return nil
}
