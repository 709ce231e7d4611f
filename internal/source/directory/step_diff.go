package directory

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
)

// Fence is the grant under which a source writes: later writes without it have no effect.
type Fence struct {
	Partition cluster.PartitionID
	Token     cluster.Token
}

// taken is what the fault of a definition says whose name a job from elsewhere has.
const taken = " exists already, from "

// tooMany is how many jobs a directory that is suddenly empty may remove at most: more likely its disk is not there.
const tooMany = 10

// diff derives the commands that bring the jobs of a source in line with a scan, and the faults found meanwhile: for
// what the scan looked at again, and what is pending. Only jobs of this source are changed. Commands are sorted by job,
// removals last.
func diff(scan Scan, value cluster.Value, name string, f Fence,
	pending map[cluster.JobID]bool) ([]cluster.Command, []*source.MalformedError) {
	var out []cluster.Command
	var faults []*source.MalformedError
	touched, all := scan.touched(pending)
	definitions := scan.Definitions
	if !all {
		definitions = nil
		for _, id := range touched {
			if d, ok := scan.definition(id); ok {
				definitions = append(definitions, d)
			}
		}
	}
	for _, d := range definitions {
		job, ok := value.Job(d.ID)
		live := ok && job.State == cluster.JobRunning
		switch {
		case live && job.Spec.Source != name:
			faults = append(faults, &source.MalformedError{
				Path: d.Path, Message: fmt.Sprintf("a job %q"+taken+"%s", d.ID, origin(job)),
				Hint: "rename the file, or kill the job",
			})
		case live && same(job.Spec, d.Spec):
		case live:
			out = append(out, cluster.UpdateJob{Job: d.ID, Spec: *d.Spec, By: f.Partition, ByToken: f.Token})
		case ok && job.State == cluster.JobCompleted && same(job.Spec, d.Spec):
		default:
			out = append(out, cluster.SubmitJob{Job: d.ID, Spec: *d.Spec, By: f.Partition, ByToken: f.Token})
		}
	}
	kills := removed(scan, value, name, f, touched, all)
	if len(kills) > tooMany && len(scan.Empty) > 0 {
		return out, append(faults, &source.MalformedError{
			Path:    scan.Empty[0],
			Message: fmt.Sprintf("the directory is suddenly empty; its %d tasks are kept", len(kills)),
			Hint:    "is its disk mounted? to remove the tasks put any file there",
		})
	}
	return append(out, kills...), faults
}

// removed are the commands that end jobs whose files are gone.
func removed(scan Scan, value cluster.Value, name string, f Fence, touched []cluster.JobID,
	all bool) []cluster.Command {
	if !scan.Complete {
		return nil
	}
	if all {
		for job := range value.Jobs() {
			touched = append(touched, job.ID)
		}
	}
	var out []cluster.Command
	for _, id := range touched {
		if runs(value, id, name) && !scan.has(id) {
			out = append(out, cluster.KillJob{Job: id, By: f.Partition, ByToken: f.Token})
		}
	}
	return out
}

func origin(j cluster.Job) string {
	if j.Spec.Source == "" {
		return "a client"
	}
	return "the source " + j.Spec.Source
}

// same compares what a definition can say.
func same(a, b *cluster.JobSpec) bool {
	return len(a.Tasks) == len(b.Tasks) && a.Source == b.Source &&
		slices.EqualFunc(a.Tasks, b.Tasks, func(x, y cluster.TaskSpec) bool {
			return x.Name == y.Name && x.Type == y.Type && x.Spread == y.Spread && x.Weight == y.Weight && x.Handover == y.Handover &&
				slices.Equal(x.Selector, y.Selector) && x.SpreadOver == y.SpreadOver && x.Pin == y.Pin &&
				x.Stay == y.Stay && x.MaxAttempts == y.MaxAttempts &&
				slices.Equal(x.Partitions, y.Partitions) && bytes.Equal(x.Definition, y.Definition)
		})
}

// The bounds of one proposal.
const (
	maxBatch = 500       // as the members of leader ask: a leader takes no request of 1000
	maxBytes = 512 << 10 // of definitions and keys; what one command alone exceeds goes alone
)

// batch is how many of the commands, at least one if there are any, go into the next proposal.
func batch(commands []cluster.Command) int {
	bytes := 0
	for i, c := range commands[:min(len(commands), maxBatch)] {
		if bytes += size(c); bytes > maxBytes && i > 0 {
			return i
		}
	}
	return min(len(commands), maxBatch)
}

func size(c cluster.Command) int {
	var spec cluster.JobSpec
	switch c := c.(type) {
	case cluster.SubmitJob:
		spec = c.Spec
	case cluster.UpdateJob:
		spec = c.Spec
	}
	n := 200
	for i := range spec.Tasks {
		n += len(spec.Tasks[i].Definition)
		for _, key := range spec.Tasks[i].Partitions {
			n += len(key) + 2
		}
	}
	return n
}

// jobOf is the job that a command of a source is about.
func jobOf(c cluster.Command) cluster.JobID {
	switch c := c.(type) {
	case cluster.SubmitJob:
		return c.Job
	case cluster.UpdateJob:
		return c.Job
	case cluster.KillJob:
		return c.Job
	}
	return ""
}
