package directory

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
)

// Fence is the grant under which a source writes: what it writes after it lost it does nothing.
type Fence struct {
	Partition cluster.PartitionID
	Token     cluster.Token
}

// Diff derives the commands that bring the jobs of a source in line with a scan, and the faults that this brings to light. Only jobs of this source
// are touched.
func Diff(scan Scan, value cluster.Value, name string, f Fence) ([]cluster.Command, []*source.MalformedError) {
	var out []cluster.Command
	var faults []*source.MalformedError
	wanted := make(map[cluster.JobID]bool, len(scan.Definitions))
	for _, d := range scan.Definitions {
		wanted[d.ID] = true
		job, ok := value.Job(d.ID)
		live := ok && job.State == cluster.JobRunning
		switch {
		case live && job.Spec.Source != name:
			faults = append(faults, &source.MalformedError{
				Path: d.Path, Message: fmt.Sprintf("a job %q exists already, from %s", d.ID, origin(job)), Hint: "rename the file",
			})
		case live && same(job.Spec, &d.Spec):
		case live:
			out = append(out, cluster.UpdateJob{Job: d.ID, Spec: d.Spec, By: f.Partition, ByToken: f.Token})
		case ok && job.State == cluster.JobCompleted && same(job.Spec, &d.Spec):
		default:
			out = append(out, cluster.SubmitJob{Job: d.ID, Spec: d.Spec, By: f.Partition, ByToken: f.Token})
		}
	}
	if !scan.Complete {
		return out, faults
	}
	for job := range value.Jobs() {
		if job.State == cluster.JobRunning && job.Spec.Source == name && !wanted[job.ID] && !slices.Contains(scan.Blocked, job.ID) {
			out = append(out, cluster.KillJob{Job: job.ID, By: f.Partition, ByToken: f.Token})
		}
	}
	return out, faults
}

func origin(j cluster.Job) string {
	if j.Spec.Source == "" {
		return "a client"
	}
	return "the source " + j.Spec.Source
}

// same compares what a definition can say.
func same(a, b *cluster.JobSpec) bool {
	return len(a.Tasks) == len(b.Tasks) && a.Source == b.Source && slices.EqualFunc(a.Tasks, b.Tasks, func(x, y cluster.TaskSpec) bool {
		return x.Name == y.Name && x.Type == y.Type && x.Spread == y.Spread && x.Weight == y.Weight && x.Handover == y.Handover &&
			slices.Equal(x.Selector, y.Selector) && x.SpreadOver == y.SpreadOver && x.Pin == y.Pin && x.MaxAttempts == y.MaxAttempts &&
			slices.Equal(x.Partitions, y.Partitions) && bytes.Equal(x.Definition, y.Definition)
	})
}
