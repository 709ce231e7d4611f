package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
)

// Mode is what a submission may do to a job of the same name.
type Mode uint8

// The modes, which may be combined.
const (
	// Update lets a live job go on by the new definition.
	Update Mode = 1 << iota
	// Again runs a job again that has ended, also one that was killed.
	Again
)

// Submit adds a job. One that is there with the same definition is accepted again, and its run is not repeated; with
// another definition it is refused while it runs, unless the mode has [Update]. A job that was killed stays so
// ([ErrKilled]) unless the mode has [Again].
func (o *Operator) Submit(ctx context.Context, id cluster.JobID, spec cluster.JobSpec, mode Mode) (Answer, error) {
	s := submission{SubmitJob: cluster.SubmitJob{Job: id, Spec: spec}, mode: mode}
	if err := CheckJob(id, spec); err != nil {
		return Answer{}, err
	}
	a, err := o.change(ctx, id, s.decide)
	if err == nil && !a.Changed {
		a.Said = said(s.SubmitJob)
	}
	return a, err
}

// CheckJob says what is wrong with a job wherever it is submitted: an [InvalidError].
func CheckJob(id cluster.JobID, spec cluster.JobSpec) error {
	if err := ours(id); err != nil {
		return err
	}
	if err := cluster.CheckCommand(cluster.SubmitJob{Job: id, Spec: spec}); err != nil {
		return &InvalidError{err}
	}
	return nil
}

// submission is one job on its way.
type submission struct {
	cluster.SubmitJob
	mode   Mode
	looked bool
	first  cluster.Index // of the job at the first look
}

func (s *submission) decide(old *cluster.Job) (cluster.Command, error) {
	if !s.looked {
		s.looked, s.first = true, indexOf(old)
	}
	c := s.SubmitJob
	c.Expected = cluster.Expect(indexOf(old))
	if old == nil {
		return c, nil
	}
	same, again := cluster.SameSpec(old.Spec, &c.Spec), s.mode&Again != 0
	switch {
	case same && again && s.first != old.SpecIndex:
		return nil, nil // it was submitted again meanwhile, perhaps by this very call
	case old.State == cluster.JobRunning && same:
		return nil, nil
	case old.State == cluster.JobRunning && s.mode&Update != 0:
		return cluster.UpdateJob{Job: c.Job, Spec: c.Spec, Expected: c.Expected}, nil
	case again:
	case old.State == cluster.JobKilled && (same || s.mode&Update != 0):
		return nil, killed(c)
	case old.State == cluster.JobCompleted && same:
		return nil, nil
	}
	return c, nil
}

func killed(c cluster.Command) error {
	return &RefusedError{Said: said(c), Try: "rota job submit --again", Kind: ErrKilled}
}

// Apply makes sure that a job runs by a definition of this version, which the spec has too: see rota.Member.Apply.
func (o *Operator) Apply(ctx context.Context, id cluster.JobID, spec cluster.JobSpec, version int64) (Answer, error) {
	return o.change(ctx, id, func(old *cluster.Job) (cluster.Command, error) { return apply(old, id, spec, version) })
}

func apply(old *cluster.Job, id cluster.JobID, spec cluster.JobSpec, version int64) (cluster.Command, error) {
	c := cluster.SubmitJob{Job: id, Spec: spec, Expected: cluster.Expect(indexOf(old))}
	if old == nil {
		return c, nil
	}
	var was int64
	if v := old.Spec.Version; v != "" {
		var err error
		if was, err = strconv.ParseInt(v, 10, 64); err != nil {
			return nil, refused(said(c), fmt.Sprintf("version %q of the job is not a number: it is not of Apply", v), "")
		}
	}
	same := cluster.SameSpec(old.Spec, &spec)
	switch {
	case old.State == cluster.JobKilled:
		return nil, killed(c)
	case version < was:
		return nil, &RefusedError{Said: said(c), Reason: fmt.Sprintf("%d, this is %d", was, version), Kind: ErrOlder}
	case same:
		return nil, nil
	case version == was:
		return nil, refused(said(c), fmt.Sprintf("version %d is there with another definition: a change needs a higher Version", version), "")
	case old.State == cluster.JobRunning:
		return cluster.UpdateJob{Job: id, Spec: spec, Expected: c.Expected}, nil
	}
	return c, nil
}

// Kill ends a job. One of a task file is refused while a living member declares its source, which would submit it
// again.
func (o *Operator) Kill(ctx context.Context, id cluster.JobID) (Answer, error) {
	c := cluster.KillJob{Job: id}
	if err := ours(id); err != nil {
		return Answer{}, err
	}
	v, err := o.at.Value(ctx)
	if err != nil {
		return Answer{}, err
	}
	if j, ok := v.Job(id); ok && j.State == cluster.JobRunning && slices.Contains(directory.Sources(v), j.Spec.Source) {
		return Answer{}, refused(said(c), fmt.Sprintf("a file of the source %s defines it, so it would come back",
			j.Spec.Source),
			fmt.Sprintf("remove its file; or rota job pause %s; or, where no directory has the file, rota source prune %s", id, j.Spec.Source))
	}
	return o.ask(ctx, c)
}

// Prune ends the jobs of a source that no living member's directory has.
func (o *Operator) Prune(ctx context.Context, source string) ([]Answer, error) {
	v, err := o.at.Value(ctx)
	if err != nil {
		return nil, err
	}
	inventories, err := directory.Inventories(ctx, o.docs, source)
	if err != nil {
		return nil, err
	}
	ids, err := directory.CopiesOf(v, source, inventories).Orphans()
	if err != nil {
		return nil, refused("prune "+source, err.Error(), "rota source list")
	}
	var out []Answer
	for some := range slices.Chunk(ids, pruned) {
		ended, err := o.end(ctx, some)
		if out = append(out, ended...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// pruned is how many jobs end in one entry: of thousands, one by one, a store took longer than people wait.
const pruned = 200

// end kills jobs, and says of each that it has ended.
func (o *Operator) end(ctx context.Context, ids []cluster.JobID) (ended []Answer, err error) {
	commands := make([]cluster.Command, len(ids))
	for i, id := range ids {
		commands[i] = cluster.KillJob{Job: id}
	}
	results, err := o.at.Propose(ctx, commands...)
	if err != nil {
		return nil, err
	}
	if len(results) != len(commands) {
		return nil, errNoAnswer
	}
	var records []journal.Record
	for i, c := range commands {
		if !results[i].Accepted {
			err = cmp.Or(err, refused(said(c), results[i].Reason, "")) // the first one
			continue
		}
		ended = append(ended, Answer{Said: said(c), Changed: true})
		records = append(records,
			journal.Record{Kind: journal.Asked, Partition: subject(c), Message: said(c), By: o.by})
	}
	if len(ended) > 0 {
		ended[0].Unjournaled = o.at.Record(ctx, records...)
	}
	return ended, err
}

// Pause takes the tasks of a job from their members, and lets nobody run them until [Operator.Resume].
func (o *Operator) Pause(ctx context.Context, id cluster.JobID) (Answer, error) {
	if err := ours(id); err != nil {
		return Answer{}, err
	}
	return o.ask(ctx, cluster.PauseJob{Job: id, By: o.by})
}

// Resume ends a pause.
func (o *Operator) Resume(ctx context.Context, id cluster.JobID) (Answer, error) {
	return o.ask(ctx, cluster.ResumeJob{Job: id})
}

// Unpark gives a task that failed too often another row of attempts.
func (o *Operator) Unpark(ctx context.Context, id cluster.PartitionID) (Answer, error) {
	return o.ask(ctx, cluster.UnparkPartition{Partition: id})
}

// RunNow asks the owners of a task, or of all partitions of a job, for a round at once. It returns one Ask for each of
// them.
func (o *Operator) RunNow(ctx context.Context, name string) ([]supervisor.Ask, Answer, error) {
	a := Answer{Said: "run-now " + name, Changed: true}
	v, err := o.at.Value(ctx)
	if err != nil {
		return nil, Answer{}, err
	}
	partitions, err := supervisor.Rounds(v, name, o.types)
	if at, ok := o.at.(interface {
		Latest(ctx context.Context) (cluster.Value, error)
	}); ok && err != nil { // what was submitted elsewhere, a member may have yet to hear of
		if v, err = at.Latest(ctx); err != nil {
			return nil, Answer{}, err
		}
		partitions, err = supervisor.Rounds(v, name, o.types)
	}
	if err != nil {
		return nil, Answer{}, refused(a.Said, err.Error(), "")
	}
	asks := make([]supervisor.Ask, 0, len(partitions))
	for _, p := range partitions {
		ask, askErr := supervisor.AskRound(ctx, o.docs, p, o.by)
		if askErr != nil {
			err = fmt.Errorf("%d of %d were asked: %w", len(asks), len(partitions), askErr)
			break
		}
		asks = append(asks, ask)
	}
	if len(asks) > 0 {
		a.Unjournaled = o.journal(ctx, name, a.Said)
	}
	return asks, a, err
}
