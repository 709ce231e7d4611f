package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/flow"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/view"
	"github.com/rota-run/rota/work"
	flows "github.com/rota-run/rota/work/stage"
)

// addFlow adds to a job how far its segments are, where it is a flow.
func (o *observer) addFlow(ctx context.Context, job *view.Job) (err error) {
	queue, ok := o.store.(store.Queue)
	if !ok {
		return nil
	}
	if job.Flow, err = view.FlowOf(ctx, queue, o.value, cluster.JobID(job.Job)); err != nil {
		return fmt.Errorf("store %s: %w", o.name, err)
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

// flowNote is where a task stands.
func flowNote(t view.FlowTask) string {
	switch {
	case t.Complete:
		return "complete"
	case len(t.From) == 0:
		return "reading"
	case !t.Sealed:
		return "open"
	}
	return bar(t.In, t.In+t.Pending)
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

// flowQueue is the queue of a job that is a flow.
func (o *observer) flowQueue(id cluster.JobID) (store.Queue, cluster.Job, flow.Graph, error) {
	job, ok := o.value.Job(id)
	if !ok {
		return nil, job, flow.Graph{}, failed(o.hint("rota jobs --all"), "there is no job %q", id)
	}
	queue, ok := o.store.(store.Queue)
	graph, err := work.GraphOf(&job)
	if err != nil || len(graph.Edges) == 0 || !ok {
		return nil, job, graph, failed(o.hint("rota jobs "+plain.Word(string(id))), "job %s is no flow: it has no dead letters", id)
	}
	return queue, job, graph, nil
}

// Dead is a dead letter as people see it.
type Dead struct {
	Task   string `json:"task"`
	Number uint64 `json:"number"`
	flows.Letter
}

// mostDead is how many dead letters people are shown of each task.
const mostDead = 1000

func (o *observer) showDead(ctx context.Context, id cluster.JobID) error {
	queue, job, graph, err := o.flowQueue(id)
	if err != nil {
		return err
	}
	all := []Dead{}
	var more []string
	for _, t := range graph.Tasks {
		letters, left, err := o.lettersOf(ctx, queue, work.FlowName(&job), t.Name)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		all = append(all, letters...)
		if left > 0 {
			more = append(more, fmt.Sprintf("and %s more of task %s: %s\n", grouped(left), t.Name, o.hint("rota jobs "+plain.Word(string(id))+" --dead --json")))
		}
	}
	if o.json {
		return o.printJSON(all)
	}
	rows := [][]string{{"TASK", "NUMBER", "SEGMENTS", "ERROR", "SEGMENT"}}
	for i := range all {
		d := &all[i]
		rows = append(rows, []string{d.Task, grouped(int(d.Number)), grouped(d.Segments), printable(clipped(d.Error)), printable(clipped(d.Text))}) //nolint:gosec // a count
	}
	if err := table(o.stdout, rows); err != nil || len(all) == 0 {
		return err
	}
	fmt.Fprint(o.stdout, strings.Join(more, ""))
	jobs := "rota jobs " + plain.Word(string(id))
	fmt.Fprintf(o.stdout, "put them back: %s, or drop them: %s\n", o.hint(jobs+" --retry-dead"), o.hint(jobs+" --drop-dead"))
	return nil
}

// lettersOf are the dead letters of a task, for people the first of them, and how many there are beside.
func (o *observer) lettersOf(ctx context.Context, queue store.Queue, name, task string) (out []Dead, left int, err error) {
	shard := store.Shard{Edge: flow.DeadOf(task)}
	for after := uint64(0); ; {
		messages, err := queue.Receive(ctx, name, store.Receive{Shard: shard, Peek: true, After: after, Limit: mostDead})
		if err != nil {
			return nil, 0, err
		}
		for _, m := range messages {
			letter, err := flows.ReadLetter(m.Data)
			if err != nil {
				return nil, 0, err
			}
			out, after = append(out, Dead{task, m.Number, letter}), m.Number
		}
		if len(messages) == 0 || !o.json && len(out) >= mostDead {
			break
		}
	}
	if o.json || len(out) < mostDead {
		return out, 0, nil
	}
	depths, err := queue.Depth(ctx, name, shard)
	if err != nil {
		return nil, 0, err
	}
	return out, int(depths[0].Pending) - len(out), nil //nolint:gosec // a count
}

// clipped cuts a text for one line.
func clipped(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// takeDead puts dead letters back to the shards that they came from, or drops them.
func (o *observer) takeDead(ctx context.Context, cmd *cobra.Command, id cluster.JobID, done string, take letterTaker) error {
	_, job, graph, err := o.flowQueue(id)
	if err != nil {
		return err
	}
	name, _ := cmd.Flags().GetString("store")
	st, err := openStore(ctx, o.env, name, change)
	if err != nil {
		return err
	}
	defer st.Close()
	queue, _ := st.(store.Queue)
	total := 0
	for _, t := range graph.Tasks {
		n, err := takeLetters(ctx, queue, work.FlowName(&job), t.Name, take)
		if total += n; err != nil {
			return failed(o.hint("rota jobs "+plain.Word(string(id))+" --dead --json"), "take the dead letters of task %s, %d are %s: %w", t.Name, total, done, err)
		}
	}
	if total > 0 { // a bell that fails costs time: idle stages look by themselves
		if err := work.RingFlow(ctx, st, work.FlowName(&job)); err != nil {
			o.say("idle stages see it within 20 s: %v", err)
		}
	}
	o.say("%s %s", many(total, "dead letter"), done)
	return nil
}
