package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/view"
	flows "github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

func newDeadLetters(e env) *cobra.Command {
	return group("dead-letters", "see to the segments of a flow on which a function failed", newDeadList(e),
		newTakeDead(e, "retry", "put the dead letters of a flow back to where they came from", "put back",
			(*operate.Operator).RetryDead),
		newTakeDead(e, "drop", "drop the dead letters of a flow for good", "dropped", (*operate.Operator).DropDead))
}

func newDeadList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list JOB", Short: "list the dead letters of a flow", Args: exactArg("a job; rota job list shows them"),
		Example: "  rota job dead-letters list etl",
	}
	cmd.Flags().Bool("all", false, "all dead letters, without a limit")
	segments := cmd.Flags().String("segments", "",
		"print the segments of this task alone, each on a line, for files.lines with json: true")
	queueFlag(cmd.Flags())
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if *segments != "" {
			return o.showSegments(ctx, cluster.JobID(args[0]), *segments)
		}
		return o.showDead(ctx, cluster.JobID(args[0]))
	})
}

// takesDead is what an operator does with dead letters.
type takesDead func(*operate.Operator, context.Context, cluster.JobID) (int, operate.Answer, error)

func newTakeDead(e env, verb, short, done string, take takesDead) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " JOB", Short: short, Args: exactArg("a job; rota job list shows them"),
		Example: "  rota job dead-letters " + verb + " etl",
	}
	queueFlag(cmd.Flags())
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		n := 0
		_, err := o.operate(ctx, o.hint("rota job list --all"),
			func(op *operate.Operator) (a operate.Answer, err error) {
				n, a, err = take(op, ctx, cluster.JobID(args[0]))
				return a, err
			})
		switch {
		case err != nil:
			return err
		case o.json:
			return o.printJSON(map[string]int{"dead_letters": n})
		}
		o.say("%s %s", many(n, "dead letter"), done)
		return nil
	})
}

func (o *observer) showDead(ctx context.Context, id cluster.JobID) error {
	queue, job, graph, err := o.flowQueue(id)
	if err != nil {
		return err
	}
	all, more := []Dead{}, 0
	for _, t := range graph.Tasks {
		letters, left, err := o.lettersOf(ctx, queue, supervisor.FlowName(&job), t.Name)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, otherProtocol(err))
		}
		all, more = append(all, letters...), more+left
	}
	if o.json {
		return o.printJSON(all)
	}
	rows := [][]string{{"TASK", "NUMBER", "SEGMENTS", "ERROR", "SEGMENT"}}
	for i := range all {
		d := &all[i]
		number, segments := grouped(int(d.Number)), grouped(d.Segments) //nolint:gosec // a count
		rows = append(rows, []string{d.Task, number, segments, printable(clipped(d.Error)), printable(clipped(d.Text))})
	}
	if err := table(o.stdout, rows); err != nil || len(all) == 0 {
		return err
	}
	o.more(more, "")
	retry, drop := "rota job dead-letters retry ", "rota job dead-letters drop "
	name := safetext.Word(string(id))
	if job.State == cluster.JobCompleted {
		segments := "rota job dead-letters list " + name + " --segments " + safetext.Word(all[0].Task)
		fmt.Fprintf(o.stdout, "the job is completed: write them to a file for another job: %s, and drop them: %s\n",
			o.hint(segments), o.hint(drop+name))
		return nil
	}
	fmt.Fprintf(o.stdout, "put them back: %s, or drop them: %s\n", o.hint(retry+name), o.hint(drop+name))
	return nil
}

// showSegments prints the segments of the dead letters of a task.
func (o *observer) showSegments(ctx context.Context, id cluster.JobID, task string) error {
	queue, job, graph, err := o.flowQueue(id)
	if err != nil {
		return err
	}
	if _, ok := graph.Task(task); !ok {
		return failed(o.hint("rota job show "+safetext.Word(string(id))), "job %s has no task %q", id, task)
	}
	o.all = true
	letters, _, err := o.lettersOf(ctx, queue, supervisor.FlowName(&job), task)
	if err != nil {
		return fmt.Errorf("store %s: %w", o.name, otherProtocol(err))
	}
	for i := range letters {
		all, err := flows.SegmentsOf(letters[i].Message(), letters[i].Segments)
		if err != nil {
			return fmt.Errorf("dead letter %d: %w", letters[i].Number, err)
		}
		for _, s := range all {
			if !json.Valid(s) || bytes.ContainsRune(s, '\n') {
				return failed("rota job dead-letters list "+safetext.Word(string(id))+" -o json",
					"dead letter %d is no line of JSON: its type has another codec", letters[i].Number)
			}
			fmt.Fprintf(o.stdout, "%s\n", s)
		}
	}
	return nil
}

// flowQueue is the queue of a job that is a flow.
func (o *observer) flowQueue(id cluster.JobID) (store.Queue, cluster.Job, flow.Graph, error) {
	job, ok := o.value.Job(id)
	if !ok {
		return nil, job, flow.Graph{}, failed(o.hint("rota job list --all"), "there is no job %q", id)
	}
	queue := o.viewer.Queue
	graph, err := supervisor.GraphOf(&job)
	if err != nil || len(graph.Edges) == 0 || queue == nil {
		return nil, job, graph, failed(o.hint("rota job show "+safetext.Word(string(id))),
			"job %s is no flow: it has no dead letters", id)
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

// lettersOf are the dead letters of a task, for people the first of them, and how many there are beside.
func (o *observer) lettersOf(ctx context.Context, queue store.Queue, name,
	task string) (out []Dead, left int, err error) {
	every, shard := o.json || o.all, store.Shard{Edge: flow.DeadOf(task)}
	for after := uint64(0); ; {
		messages, err := queue.Receive(ctx, name,
			store.Receive{Shard: shard, Peek: true, After: after, Limit: mostDead})
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
		if len(messages) == 0 || !every && len(out) >= mostDead {
			break
		}
	}
	if every || len(out) < mostDead {
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

// flowRows draws the tasks of a flow in their order, each with what comes to it, and a bar where it is known how much
// that is. Rates are by task, nil where there was no look before.
func flowRows(f *view.Flow, rates map[string]float64) [][]string {
	rows := [][]string{{"FLOW", "FROM", "SLOTS", "IN", "PENDING", "OUT", "DEAD", "RATE", ""}}
	for _, t := range f.Tasks {
		row := []string{t.Task, dash(strings.Join(t.From, " ")), grouped(t.Slots), "-", "-", grouped(int(t.Out)),
			grouped(int(t.Dead)), "-", flowNote(t)} //nolint:gosec // counts
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
