package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// Cluster is where an [Operator] asks: [Inside] or [Outside]. Its methods may be called from any goroutine.
type Cluster interface {
	// Value is the newest value known here.
	Value(ctx context.Context) (cluster.Value, error)
	// Changed returns a channel that is closed when another look at the value may show more. It is taken before the
	// look.
	Changed() <-chan struct{}
	// Propose has the three outcomes of protocol.Client.
	Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
	// Record journals.
	Record(ctx context.Context, records ...journal.Record) error
}

// Operator does what one person or program asks of a cluster. Its methods may be called from any goroutine.
type Operator struct {
	at    Cluster
	docs  store.Docs // what is kept beside the value: drains, requests for rounds
	queue store.Queue
	types work.Types
	by    string
}

// New makes an operator. The queue has the segments of flows, nil where there is none. The types are those that this
// program knows; by is who asks, as user@host or the name of a member.
func New(at Cluster, docs store.Docs, queue store.Queue, types work.Types, by string) *Operator {
	return &Operator{at: at, docs: docs, queue: queue, types: types, by: by}
}

// For is the operator for what a person asks through it: the journal names both.
func (o *Operator) For(name string) *Operator {
	named := *o
	named.by = name + " (" + o.by + ")"
	return &named
}

// tries bounds how often a change is decided again because the job has changed meanwhile.
const tries = 8

// change decides by what is seen of a job, and again when the job has changed meanwhile. Decide returns nil where
// nothing is to be done.
func (o *Operator) change(ctx context.Context, id cluster.JobID,
	decide func(old *cluster.Job) (cluster.Command, error)) (Answer, error) {
	for range tries {
		old, err := o.job(ctx, id)
		if err != nil {
			return Answer{}, err
		}
		c, err := decide(old)
		if err != nil || c == nil {
			return Answer{}, err
		}
		a, err := o.ask(ctx, c)
		var r *RefusedError
		if !errors.As(err, &r) || r.Reason != cluster.NotExpected {
			if err == nil && old == nil {
				err = o.await(ctx, id, func(now *cluster.Job) bool { return now != nil })
			}
			return a, err
		}
		// what has changed it is on its way here
		if err := o.await(ctx, id, func(now *cluster.Job) bool { return indexOf(now) != indexOf(old) }); err != nil {
			return Answer{}, err
		}
	}
	return Answer{}, refused("change "+string(id), "others change it all the time", "")
}

// await returns when a job looks as it should from here: a member hears of changes a moment after the store has them.
func (o *Operator) await(ctx context.Context, id cluster.JobID, is func(*cluster.Job) bool) error {
	for {
		changed := o.at.Changed()
		now, err := o.job(ctx, id)
		if err != nil || is(now) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (o *Operator) job(ctx context.Context, id cluster.JobID) (*cluster.Job, error) {
	v, err := o.at.Value(ctx)
	if err != nil {
		return nil, err
	}
	if j, ok := v.Job(id); ok {
		return &j, nil
	}
	return nil, nil //nolint:nilnil // nil is no such job
}

func indexOf(old *cluster.Job) cluster.Index {
	if old == nil {
		return 0
	}
	return old.SpecIndex
}

// ask proposes what people decide, and journals it.
func (o *Operator) ask(ctx context.Context, c cluster.Command) (Answer, error) {
	if err := o.propose(ctx, c); err != nil {
		return Answer{}, err
	}
	return o.done(ctx, c), nil
}

var errNoAnswer = errors.New("the cluster gave no answer")

func (o *Operator) propose(ctx context.Context, c cluster.Command) error {
	if err := cluster.CheckCommand(c); err != nil {
		return &InvalidError{err}
	}
	res, err := o.at.Propose(ctx, c)
	switch {
	case err != nil:
		return err
	case len(res) != 1:
		return errNoAnswer
	case !res[0].Accepted:
		return refused(said(c), res[0].Reason, "")
	}
	return nil
}

// done is the answer to what was accepted, when it is in the journal.
func (o *Operator) done(ctx context.Context, c cluster.Command) Answer {
	_, update := c.(cluster.UpdateJob)
	return Answer{Said: said(c), Changed: true, Updated: update, Unjournaled: o.journal(ctx, subject(c), said(c))}
}

// journal says who asked for what, of which job or task.
func (o *Operator) journal(ctx context.Context, subject, said string) error {
	return o.at.Record(ctx, journal.Record{Kind: journal.Asked, Partition: subject, Message: said, By: o.by})
}

// subject is the job or task that a command is about; "" for any other.
func subject(c cluster.Command) string {
	switch c := c.(type) {
	case cluster.SubmitJob:
		return string(c.Job)
	case cluster.UpdateJob:
		return string(c.Job)
	case cluster.KillJob:
		return string(c.Job)
	case cluster.PauseJob:
		return string(c.Job)
	case cluster.ResumeJob:
		return string(c.Job)
	case cluster.UnparkPartition:
		return string(c.Partition)
	}
	return ""
}

// said is a command for people: without what only the cluster needs.
func said(c cluster.Command) string {
	switch c := c.(type) {
	case cluster.SubmitJob:
		c.Expected = 0
		return c.String()
	case cluster.UpdateJob:
		c.Expected = 0
		return c.String()
	case cluster.PauseJob:
		return "pause-job " + string(c.Job)
	}
	return fmt.Sprint(c)
}

// ours refuses the names of Rota's own jobs.
func ours(id cluster.JobID) error {
	if strings.HasPrefix(string(id), "rota.") {
		return &InvalidError{fmt.Errorf(`id %s: names that begin with "rota." are reserved`, id)}
	}
	return nil
}
