package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/view"
)

func newJob(e env) *cobra.Command {
	return group("job", "list jobs, submit, stop and pause them, see to dead letters",
		newJobList(e), newJobShow(e), newSubmit(e), newStop(e), newPause(e), newResume(e), newDeadLetters(e))
}

func newJobList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "list the submitted jobs",
		Example: "  rota job list --store file:./rota-data\n  rota job list --state running",
	}
	state := cmd.Flags().String("state", "", "only those that are "+strings.Join(jobStates(), ", "))
	cmd.Flags().Bool("all", false, "all jobs, also those that task files define")
	asked(cmd.Flags(), "state", "all")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if err := checkState(*state, jobStates()); err != nil {
			return err
		}
		return o.showJobs(ctx, *state)
	})
}

func newJobShow(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show JOB", Short: "show a job with its tasks, or follow it",
		Args:    exactArg("a job; rota job list shows them"),
		Example: "  rota job show etl\n  rota job show etl --follow",
	}
	queueFlag(cmd.Flags())
	follow := cmd.Flags().Bool("follow", false,
		"tell what happens until the job has ended; exit 1 unless it is completed")
	asked(cmd.Flags(), "follow")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		return o.showJob(ctx, cluster.JobID(args[0]), *follow)
	})
}

func jobStates() []string {
	out := []string{view.Paused}
	for _, s := range []cluster.JobState{cluster.JobPending, cluster.JobRunning, cluster.JobCompleted,
		cluster.JobKilled, cluster.JobFailed} {
		out = append(out, s.String())
	}
	return out
}

// showJobs lists jobs. Those that files define are tasks, and far more.
func (o *observer) showJobs(ctx context.Context, state string) error {
	sight, err := o.sight(ctx, false)
	if err != nil {
		return err
	}
	defined := 0
	jobs := sight.Jobs(func(j cluster.Job) bool {
		if o.all || j.Spec.Source == "" {
			return true
		}
		live := j.State == cluster.JobPending || j.State == cluster.JobRunning
		if live && state == "" && !cluster.PartitionID(j.ID).Reserved() {
			defined++
		}
		return false
	})
	if state != "" {
		jobs = slices.DeleteFunc(jobs, func(j view.Job) bool { return j.State != state })
	}
	if o.json {
		return o.printJSON(jobs)
	}
	err = o.list([]string{"JOB", "STATE", "DONE", "RUNNING", "SINCE", ""}, len(jobs), func(i int) []string {
		j := &jobs[i]
		done := fmt.Sprintf("%d/%d", j.Count(view.Done), len(j.Tasks))
		return []string{j.Job, j.State, done, runningText(j), ago(j.SinceMS, o.now), jobNote(j)}
	})
	if err != nil {
		return err
	}
	if defined > 0 {
		fmt.Fprintf(o.stdout, "and %s that files define: %s\n", many(defined, "task"), o.again("--all"))
	}
	return nil
}

// runningText names the tasks that run.
func runningText(j *view.Job) string {
	var out []string
	for i := range j.Tasks {
		if t := &j.Tasks[i]; t.State == view.Running || t.State == view.Failing {
			name := shortName(j.Job, t.Task)
			if t.State == view.Failing {
				name += " (failing)"
			}
			if len(t.Slots) > 0 {
				name += fmt.Sprintf(" (%s)", many(len(t.Slots), "slot"))
			}
			out = append(out, name)
		}
	}
	const most = 3
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return dash(strings.Join(out, ", "))
}

// jobNote is why a job waits or has failed.
func jobNote(j *view.Job) string {
	if j.Reason != nil {
		return ruleText(j.Reason)
	}
	return j.Message
}

// showJob shows one job, or follows it.
func (o *observer) showJob(ctx context.Context, id cluster.JobID, follow bool) error {
	sight, err := o.sight(ctx, false)
	if err != nil {
		return err
	}
	job, ok := sight.Job(id)
	if !ok {
		return failed(o.hint("rota job list --all"), "there is no job %q", id)
	}
	if follow {
		return o.follow(o.cmd.Context(), &follower{job: id, out: o.stdout, json: o.json})
	}
	if err := o.addFlow(ctx, &job); err != nil {
		return err
	}
	if o.json {
		return o.printJSON(job)
	}
	if err := o.printJob(&job); err != nil || job.Flow == nil {
		return err
	}
	fmt.Fprintln(o.stdout)
	return table(o.stdout, flowRows(job.Flow, nil))
}

func (o *observer) printJob(j *view.Job) error {
	head := fmt.Sprintf("%s is %s", j.Job, j.State)
	if j.SinceMS > 0 {
		head += fmt.Sprintf(" since %s (%s)", clock(j.SinceMS, o.now), ago(j.SinceMS, o.now))
	}
	head += fmt.Sprintf(" · %d of %s done", j.Count(view.Done), many(len(j.Tasks), "task"))
	for _, part := range [][2]string{{"scheduler", j.Scheduler}, {"version", j.Version}, {"from source", j.Source}} {
		if part[1] != "" {
			head += " · " + part[0] + " " + part[1]
		}
	}
	fmt.Fprintln(o.stdout, printable(head))
	if j.Message != "" {
		fmt.Fprintf(o.stdout, "! %s\n", printable(j.Message))
	}
	if j.Reason != nil {
		fmt.Fprintf(o.stdout, "! %s   → %s\n", printable(ruleText(j.Reason)), dash(printable(j.Reason.Try)))
	}
	rows := [][]string{{"TASK", "STATE", "AFTER", "SLOTS", "PARTITIONS", "TYPE", ""}}
	for i := range j.Tasks {
		t := &j.Tasks[i]
		rows = append(rows, []string{
			shortName(j.Job, t.Task), t.State, dash(strings.Join(t.After, " ")), slotList(t.Slots), partitionText(t),
			t.Type, taskNote(t),
		})
	}
	return table(o.stdout, rows)
}

// slotList names slots, as many as fit on a line.
func slotList(slots []string) string {
	const most = 8
	if more := len(slots) - most; more > 0 {
		return strings.Join(slots[:most], " ") + fmt.Sprintf(" and %s more", grouped(more))
	}
	return dash(strings.Join(slots, " "))
}

// partitionText counts the partitions of a task that is not of spread pool.
func partitionText(t *view.JobTask) string {
	if t.Spread == cluster.SpreadPool.String() || t.Partitions.Total == 0 {
		return "-"
	}
	return grouped(t.Partitions.Total) + taskText(t.Partitions)
}

// taskNote is why a task waits or fails.
func taskNote(t *view.JobTask) string {
	var out []string
	if t.Reason != nil && t.State != view.Done {
		out = append(out, ruleText(t.Reason))
	}
	if t.Failures > 0 && t.State != view.Done && t.Reason == nil {
		out = append(out, fmt.Sprintf("failed %s: %s", many(int(t.Failures), "time"), t.Message))
	}
	return strings.Join(out, " · ")
}

const pauseHelp = `Take the tasks of a job from their members, and let nobody run them until rota job resume. A task file is a job.
Its definition may change meanwhile, and members may come and go: it stays paused. Rounds that fall into the pause are
caught up with as its catch_up says.`

func newPause(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pause JOB", Short: "let nobody run a job until it is resumed", Long: pauseHelp,
		Example: "  rota job pause etl",
	}
	return proposer(e, cmd, asking[cluster.JobID]{
		list: "job list --all", do: (*operate.Operator).Pause,
		done: "%[1]s is paused · end it: rota job resume %[1]s --store %[2]s",
	})
}

func newResume(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "resume JOB", Short: "end a pause", Example: "  rota job resume etl"}
	return proposer(e, cmd, asking[cluster.JobID]{
		list: "job list --all", do: (*operate.Operator).Resume,
		done: "%[1]s runs again · see where: rota why %[1]s --store %[2]s",
	})
}

func newStop(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stop JOB", Short: "end a job; that of a task file ends when its file goes",
		Example: "  rota job stop etl",
	}
	return proposer(e, cmd, asking[cluster.JobID]{
		list: "job list --all", do: (*operate.Operator).Kill,
		done: "%s is killed · see what is left: rota job list --store %s",
	})
}
