package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

// addFlow adds to a job how far its segments are, where it is a flow.
func (o *observer) addFlow(ctx context.Context, job *view.Job) (err error) {
	if o.viewer.Queue == nil {
		return nil
	}
	if job.Flow, err = view.FlowOf(ctx, o.viewer.Queue, o.value, cluster.JobID(job.Job)); err != nil {
		return fmt.Errorf("store %s: %w", o.name, otherProtocol(err))
	}
	return nil
}

// flowRows draws the tasks of a flow in their order, each with what comes to it, and a bar where it is known how much that is. Rates are by task, nil where
// there was no look before.
func flowRows(f *view.Flow, rates map[string]float64) [][]string {
	rows := [][]string{{"FLOW", "FROM", "SLOTS", "IN", "PENDING", "OUT", "DEAD", "RATE", ""}}
	for _, t := range f.Tasks {
		row := []string{t.Task, dash(strings.Join(t.From, " ")), grouped(t.Slots), "-", "-", grouped(int(t.Out)), grouped(int(t.Dead)), "-", flowNote(t)} //nolint:gosec // counts
		if rate, ok := rates[t.Task]; ok {
			row[7] = fmt.Sprintf("%.0f/s", rate)
		}
		if len(t.From) > 0 {
			row[3], row[4] = grouped(int(t.In)), grouped(int(t.Pending)) //nolint:gosec // counts
		}
		rows = append(rows, row)
	}
	return append(rows, []string{"", "", "", f.Unit, "", "", "", "", ""})
}

// flowNote is where a task stands: a bar, or its state, and what it waits for.
func flowNote(t view.FlowTask) string {
	note := t.State
	if t.State == view.FlowDraining {
		note = bar(t.In, t.In+t.Pending)
	}
	if len(t.Sealers) > 0 && t.Slots > 0 {
		note += " by " + strings.Join(t.Sealers, " ")
	}
	if t.Waits != "" {
		note += ": " + t.Waits
	}
	return note
}

// flowView is what a follower has seen of a flow.
type flowView struct {
	drawn bool
	at    time.Time // of the look that was drawn last
	seen  map[string]uint64
	last  string
}

// drawEvery is between two pictures of a flow.
const drawEvery = time.Second

// draw draws a flow that has changed, and not more often than people can read; the last picture is always drawn.
func (v *flowView) draw(out io.Writer, f *view.Flow, now time.Time, ended bool) error {
	if v.drawn && !ended && now.Sub(v.at) < drawEvery {
		return nil
	}
	text := fmt.Sprintf("%+v", f.Tasks)
	if text == v.last {
		return nil
	}
	rates := v.rates(f, now)
	v.drawn, v.at, v.last, v.seen = true, now, text, make(map[string]uint64, len(f.Tasks))
	for _, t := range f.Tasks {
		v.seen[t.Task] = throughput(t)
	}
	return table(out, flowRows(f, rates))
}

// rates are how many segments a second went through each task since the last picture.
func (v *flowView) rates(f *view.Flow, now time.Time) map[string]float64 {
	if !v.drawn || !now.After(v.at) {
		return nil
	}
	rates := make(map[string]float64, len(f.Tasks))
	for _, t := range f.Tasks {
		if before, ok := v.seen[t.Task]; ok && throughput(t) >= before {
			rates[t.Task] = float64(throughput(t)-before) / now.Sub(v.at).Seconds()
		}
	}
	return rates
}

// throughput is what a task has done: what came in, or what it has read.
func throughput(t view.FlowTask) uint64 {
	if len(t.From) == 0 {
		return t.Out
	}
	return t.In
}

// bar draws how much of something is done.
func bar(done, all uint64) string {
	const width = 20
	if all == 0 {
		return "sealed, nothing waits"
	}
	full := int(done * width / all) //nolint:gosec // at most width
	return strings.Repeat("█", full) + strings.Repeat("░", width-full) + fmt.Sprintf(" %d %%", done*100/all)
}
