package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/rotacmd/internal/localsock"
)

// longestLook is how long a command looks for a heartbeat at most.
const longestLook = 10 * time.Second

// lookPause is between two looks at heartbeats.
const lookPause = 200 * time.Millisecond

// sight looks at heartbeats and at what fails. With sure, it looks on until it has seen each heartbeat change, or not.
func (o *observer) sight(ctx context.Context, sure bool) (s view.Sight, err error) {
	err = o.lookOn(ctx, sure, func(first bool) ([]string, error) {
		if !first {
			if err := o.refresh(ctx); err != nil {
				return nil, err
			}
		}
		if s, err = o.viewer.Look(ctx, o.value); err != nil {
			return nil, fmt.Errorf("store %s: %w", o.name, err)
		}
		return undecided(s, sure), nil
	})
	return s, err
}

// lookOn looks until nothing is open, for a while at most. A heartbeat that is old by its owner's clock proves nothing,
// for clocks differ: then it looks on until there is another one, or none for the TTL by our own clock.
func (o *observer) lookOn(ctx context.Context, quiet bool, look func(first bool) (open []string, err error)) error {
	end := time.Now().Add(longestLook)
	for first := true; ; first = false {
		open, err := look(first)
		if err != nil || len(open) == 0 || time.Now().After(end) {
			return err
		}
		if first && !quiet {
			o.say("looking for another heartbeat of %s, at most %s", strings.Join(open, ", "), longestLook)
		}
		if !wait.For(ctx, lookPause) {
			return context.Cause(ctx)
		}
	}
}

// undecided are the members of whom another look may tell more, sorted.
func undecided(s view.Sight, sure bool) (out []string) {
	for m, h := range s.Heartbeats() {
		if h.State == view.HeartbeatLate || sure && h.State == view.HeartbeatPresent {
			out = append(out, string(m))
		}
	}
	slices.Sort(out)
	return out
}

// try is what a reason says to try. Where that ends in a command of ours, it is completed.
func (o *observer) try(text string) string {
	if strings.HasPrefix(text, "rota ") || strings.Contains(text, " rota ") {
		return o.hint(text)
	}
	return text
}

// heartbeatText is a heartbeat in a few words.
func heartbeatText(h *view.Heartbeat, now time.Time) string {
	switch {
	case h == nil:
		return "-"
	case h.State == view.HeartbeatGone:
		return h.State
	case h.State == view.HeartbeatSilent:
		return "silent " + short(time.Duration(h.SilentMS)*time.Millisecond)
	}
	text := "now"
	if age := h.Age(now); age >= time.Second {
		text = "about " + short(age) + " ago"
	}
	if h.Slower() {
		text += fmt.Sprintf(", TTL %s in place of %s", short(time.Duration(h.TTLMS)*time.Millisecond),
			short(time.Duration(h.UsualTTLMS)*time.Millisecond))
	}
	return text
}

// localWithin is how long the members on this machine are waited for, before the command reads the store itself.
const localWithin = time.Second

// statusLocal shows what a member on this machine says; false if none says anything.
func (o *observer) statusLocal(ctx context.Context) (bool, error) {
	if o.dir == "" {
		return false, nil
	}
	var seen overview
	err := o.lookOn(ctx, false, func(bool) (open []string, err error) {
		seen, err = o.askOverview(ctx)
		return seen.Undecided, err
	})
	if err != nil {
		return false, context.Cause(ctx)
	}
	o.now, seen.Status.Store = time.Now(), o.name // as it was asked for
	return true, o.printOverview(seen)
}

func (o *observer) askOverview(ctx context.Context) (seen overview, err error) {
	ctx, cancel := context.WithTimeout(ctx, localWithin)
	defer cancel()
	answer, err := localsock.Ask(ctx, o.dir, localPath(saysOverview))
	if err != nil {
		return seen, err
	}
	return seen, json.Unmarshal(answer, &seen)
}

func newWhy(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "why TASK", Short: "explain where a task or a job runs, or why it does not",
		Args:    exactArg("the task"),
		Example: "  rota why weather"}
	queueFlag(cmd.Flags())
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		records, err := o.journal(ctx, journal.Query{Partition: args[0], Limit: 20})
		if err != nil {
			return err
		}
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		w, ok, err := o.viewer.Why(ctx, sight, cluster.PartitionID(args[0]), records)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		if !ok {
			return failed(o.hint("rota task list --all"), "there is no task %q", args[0])
		}
		return show(o, &w, o.printWhy)
	})
}

// whyHead is the sentence that why begins with.
func (o *observer) whyHead(w *view.Why) string {
	head := fmt.Sprintf("%s is %s", w.Task.Task, w.State)
	if w.Malformed != nil {
		head = fmt.Sprintf("%s has a malformed file; its last good version is %s", w.Task.Task, w.State)
	}
	if w.Owner != "" {
		head += " on " + w.Owner
	}
	if w.Next != "" {
		head += ", on its way to " + w.Next
	}
	if w.SinceMS > 0 {
		head += fmt.Sprintf(" since %s (%s)", clock(w.SinceMS, o.now), ago(w.SinceMS, o.now))
	}
	if w.Partitions != nil {
		head += ": " + grouped(w.Partitions.Total) + " partitions" + taskText(*w.Partitions)
	}
	return head + "."
}

func (o *observer) printWhy(w *view.Why) error {
	fmt.Fprintln(o.stdout, printable(o.whyHead(w)))
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(o.stdout, "  %-8s%s\n", name, printable(text))
		}
	}
	if w.Malformed != nil {
		row("file", w.Malformed.Text)
		row("next", o.try(w.Malformed.Try))
	}
	if w.Reason != nil {
		row("rule", w.Reason.Rule)
		row("", w.Reason.Text)
		row("next", o.try(w.Reason.Try))
	}
	switch {
	case w.State == view.Moving || w.Next != "" || w.Reason != nil && w.Reason.Rule == "hold":
		row("because", w.Cause) // it goes; the owner before this one is of an earlier move
	case w.Cause != "" && w.From != "":
		row("came", "from "+w.From+": "+w.Cause)
	}
	if len(w.Labels) > 0 {
		row("labels", labelText(w.Labels))
	}
	if w.Token != 0 {
		row("token", fmt.Sprint(w.Token))
	}
	row("slots", strings.Join(w.Slots, " "))
	row("failed", strings.TrimSuffix(o.failedSince(&w.Task)+w.FailureText(), ", "))
	row("rounds", o.roundsText(w))
	if w.Flow != nil {
		row("flow", flowNote(*w.Flow))
		if w.Flow.Dead > 0 {
			job, _, _ := strings.Cut(w.Task.Task, "/")
			row("", many(int(w.Flow.Dead), "dead letter")+": "+o.hint("rota job dead-letters list "+job))
		}
	}
	row("flow", w.FlowError)
	for i := range w.Tasks {
		row("task", shortName(w.Task.Task, w.Tasks[i].Task)+" "+taskLine(&w.Tasks[i]))
	}
	for i := range w.NotRunning {
		row("part", partLine(&w.NotRunning[i]))
	}
	o.printHistory(w)
	return nil
}

// printHistory shows the records, and the lines of a file that is malformed now.
func (o *observer) printHistory(w *view.Why) {
	if len(w.History) > 0 {
		fmt.Fprintln(o.stdout, "history")
	}
	for _, r := range w.History {
		fmt.Fprintf(o.stdout, "  %s  %-10s %s\n", clock(r.AtMS, o.now), r.Kind, printable(r.Line()))
	}
	if last := len(w.History) - 1; w.State == view.Malformed && w.History[last].Storage != nil {
		o.printLines(w.History[last].Storage.Lines)
	}
}

// roundsText is when the last round was and the next one is, as far as the store has it.
func (o *observer) roundsText(w *view.Why) string {
	var out []string
	if w.LastRoundMS > 0 {
		out = append(out, "last at "+clock(w.LastRoundMS, o.now))
	}
	if w.NextRoundMS > 0 {
		out = append(out, "next at "+clock(w.NextRoundMS, o.now))
	}
	return strings.Join(out, ", ")
}

// partLine is one partition of a task that does not run as it should.
func partLine(t *view.Task) string {
	text := t.Task + " is " + t.State
	if t.Owner != "" {
		text += " on " + t.Owner
	}
	switch {
	case t.Reason != nil:
		text += ": " + ruleText(t.Reason)
	case t.FailureText() != "":
		text += ": " + t.FailureText()
	}
	return text
}
