package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store"
)

// lookEvery is how often a follower looks by itself, where the store tells nothing.
const lookEvery = time.Second

// refresh reads the newest value.
func (o *observer) refresh(ctx context.Context) error {
	if err := o.findProtocol(ctx); err != nil {
		return fmt.Errorf("store %s: %w", o.name, err)
	}
	if o.once && o.value.Index() > 0 {
		debug.SetGCPercent(looksAgain)
		o.once = false
	}
	v, err := o.proto.Observe(ctx, o.store, o.value)
	if err != nil {
		return fmt.Errorf("store %s: %w", o.name, err)
	}
	o.value, o.now = v, time.Now()
	return nil
}

// findProtocol finds out by which protocol the members agree, once some have joined.
func (o *observer) findProtocol(ctx context.Context) error {
	if o.proto != nil && o.value.Index() > 0 {
		return nil
	}
	var err error
	if o.proto, err = protocolAt(ctx, o.store); err == nil {
		o.viewer.Protocol = o.proto.Name()
	}
	return err
}

// watch looks, and looks again whenever the log may have grown, until see has seen enough.
func (o *observer) watch(ctx context.Context, see func() (enough bool, err error)) error {
	var hints <-chan struct{}
	if w, ok := o.store.(store.LogWatcher); ok {
		var err error
		if hints, err = w.WatchLog(ctx); err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if !o.away {
			enough, err := see()
			if told := cmp.Or(o.written(), o.outlast(ctx, err)); told != nil || err == nil && enough {
				return told
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case _, open := <-hints:
			if !open {
				hints = nil // the clock is left
			}
		case <-tick.C:
		}
		if err := o.lookAgain(ctx); err != nil {
			return err
		}
	}
}

// lookAgain is one more look, that may take so long as any command. A store that is away is waited for.
func (o *observer) lookAgain(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := o.refresh(limited)
	if err == nil {
		o.heard(nil)
	}
	return o.outlast(ctx, err)
}

// outlast says that the store does not answer, where that is what an error tells; else it returns the error.
func (o *observer) outlast(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) &&
		!errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	o.heard(err)
	return nil
}

// heard says when the store goes away, and when it is back.
func (o *observer) heard(err error) {
	switch {
	case err == nil && o.away:
		o.say("the store answers again")
	case err != nil && !o.away:
		o.say("the store does not answer, still waiting: %v", err)
	}
	o.away = err != nil
}

// follower tells what happens to a job.
type follower struct {
	job   cluster.JobID
	out   io.Writer
	json  bool // an object for each change, instead of lines
	quiet bool
	last  func(view.Job) error // is given the job when it has ended
	told  map[string]string    // by task, and "" for the job
	flow  flowView
}

// follow tells what happens to a job until it has ended. The error is silent where the job did not complete: that was
// told.
func (o *observer) follow(ctx context.Context, f *follower) error {
	var end view.Job
	err := o.watch(ctx, func() (bool, error) {
		job, ok := view.Of(o.value).Job(f.job)
		if !ok {
			return true, failed(o.hint("rota job list"), "there is no job %q any more", f.job)
		}
		if err := o.addFlow(ctx, &job); err != nil {
			job.Flow = nil // the next look may tell
		}
		end = job
		return job.Ended(), f.tell(o, &job)
	})
	if err != nil {
		return err
	}
	if f.last != nil {
		if err := f.last(end); err != nil {
			return err
		}
	}
	if end.State != cluster.JobCompleted.String() {
		return errSilent
	}
	return nil
}

// tell tells what has changed.
func (f *follower) tell(o *observer, job *view.Job) error {
	if f.told == nil {
		f.told = make(map[string]string)
	}
	changed := false
	line := func(key, name, text string) error {
		if f.told[key] == text {
			return nil
		}
		f.told[key], changed = text, true
		if f.json || f.quiet {
			return nil
		}
		_, err := fmt.Fprintf(f.out, "%s  %-16s %s\n", o.now.Format(time.TimeOnly), printable(shortName(job.Job, name)),
			printable(text))
		return err
	}
	for i := range job.Tasks {
		if err := line(job.Tasks[i].Task, job.Tasks[i].Task, taskLine(&job.Tasks[i])); err != nil {
			return err
		}
	}
	if job.Flow != nil {
		changed = changed || f.told["flow"] != fmt.Sprint(job.Flow)
		f.told["flow"] = fmt.Sprint(job.Flow)
		if !f.json && !f.quiet {
			if err := f.flow.draw(f.out, job.Flow, o.now, job.Ended()); err != nil {
				return err
			}
		}
	}
	if err := line("", "", jobLine(job)); err != nil || !f.json || !changed {
		return err
	}
	return o.printJSON(job)
}

// shortName is a task's name without that of its job.
func shortName(job, task string) string {
	if task == "" || task == job {
		return job
	}
	return strings.TrimPrefix(task, job+"/")
}

// taskLine is a task in short.
func taskLine(t *view.JobTask) string {
	text := t.State
	if n := len(t.Slots); n > 0 {
		text += " on " + many(n, "slot")
	} else if t.State == view.Running && t.Partitions.Total > 1 {
		text += fmt.Sprintf(", %s of %s done", grouped(t.Partitions.Finished), many(t.Partitions.Total, "partition"))
	}
	if t.Failures > 0 && t.State != view.Done {
		text += fmt.Sprintf(", failed %s: %s", many(int(t.Failures), "time"), t.Message)
	}
	if t.Reason != nil && t.State != view.Running && t.State != view.Done {
		text += ": " + ruleText(t.Reason)
	}
	return text
}

// jobLine is a job in short.
func jobLine(j *view.Job) string {
	text := fmt.Sprintf("%s, %d of %s done", j.State, j.Count(view.Done), many(len(j.Tasks), "task"))
	if j.Message != "" {
		text += ": " + j.Message
	}
	if j.Reason != nil {
		text += ": " + ruleText(j.Reason)
	}
	return text
}

// ruleText is a rule and its reason; a reason that names its rule stands alone.
func ruleText(r *view.Reason) string {
	if strings.Contains(r.Text, r.Rule) {
		return r.Text
	}
	return r.Rule + ": " + r.Text
}
