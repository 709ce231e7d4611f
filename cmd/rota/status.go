package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/journal"
)

func newStatus(e env) *cobra.Command {
	return watcher(e, &cobra.Command{
		Use: "status", Short: "show what is true now, and what needs a person",
		Long: "Shows what is true now, and what needs a person. With --json also each member, and each task with its owner and token.",
	}, showStatus)
}

// statusReport is what rota status prints as JSON: the sums of the HTTP API, and what they are the sums of.
type statusReport struct {
	api.Status
	MemberList []api.Member `json:"member_list"`
	TaskList   []api.Task   `json:"task_list"`
}

// problemsShown is how many problems fit on a screen.
const problemsShown = 15

func showStatus(ctx context.Context, o *observer, _ []string) error {
	s := api.StatusOf(o.value)
	s.Store, s.Protocol = o.name, o.proto.Name()
	records, err := o.journal(ctx, journal.Query{Limit: 10_000})
	if err != nil {
		return err
	}
	differ, err := o.sourceProblems(ctx)
	if err != nil {
		return err
	}
	s.Problems = append(differ, s.Problems...)
	s.AddMalformed(records)
	s.Moves = api.MovesOf(since(records, o.now.Add(-time.Hour)))
	if o.json {
		return o.printJSON(statusReport{s, api.MembersOf(o.value), api.TasksOf(o.value, false)})
	}
	return o.printStatus(s)
}

func since(records []journal.Record, t time.Time) []journal.Record {
	for i, r := range records {
		if r.AtMS >= t.UnixMilli() {
			return records[i:]
		}
	}
	return nil
}

func (o *observer) printStatus(s api.Status) error {
	w := o.stdout
	fmt.Fprintf(w, "store %s · protocol %s · index %s · digest %s\n", s.Store, s.Protocol, grouped(int(s.Index)), s.Digest[:8])
	fmt.Fprintf(w, "members %s", grouped(s.Members.Total))
	if s.Members.Draining > 0 {
		fmt.Fprintf(w, " (%d draining)", s.Members.Draining)
	}
	fmt.Fprintf(w, " · tasks %s%s · moves in the last hour %s", grouped(s.Tasks.Total), taskText(s.Tasks), grouped(s.Moves.LastHour))
	if s.Moves.LongestGapMS > 0 {
		fmt.Fprintf(w, ", longest gap %s", gapText(s.Moves.LongestGapMS))
	}
	fmt.Fprintln(w)
	if s.Members.Total == 0 && s.Tasks.Total > 0 {
		fmt.Fprintf(w, "! no member is running: nothing runs   → rota run --store %s\n", o.name)
		return nil
	}
	var rows [][]string
	for _, p := range s.Problems[:min(len(s.Problems), problemsShown)] {
		next := "→ rota why " + p.Task
		switch p.State {
		case "malformed":
			next = "→ rota journal --task " + p.Task
		case "sources differ":
			next = "→ " + p.Try
		}
		rows = append(rows, []string{"! " + p.State, p.Task, p.Text, next})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	if more := len(s.Problems) - len(rows) + s.More; more > 0 {
		fmt.Fprintf(w, "and %s more: rota tasks --state waiting, rota tasks --state parked\n", grouped(more))
	}
	return nil
}

func taskText(c api.TaskCounts) string {
	text := ""
	for _, p := range []struct {
		n    int
		name string
	}{
		{c.Running, "running"}, {c.Moving, "moving"}, {c.Waiting, "waiting"}, {c.Parked, "parked"}, {c.Blocked, "blocked"},
		{c.Held, "held"}, {c.Finished, "finished"},
	} {
		if p.n == 0 {
			continue
		}
		if text == "" {
			text = ": "
		} else {
			text += ", "
		}
		text += grouped(p.n) + " " + p.name
	}
	return text
}
