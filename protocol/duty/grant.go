package duty

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Grants returns what a member with these duties runs.
func Grants(v cluster.Value, duties []cluster.Duty) []protocol.Grant {
	out := make([]protocol.Grant, 0, len(duties))
	for _, d := range duties {
		if d.Role == cluster.RoleStop {
			continue
		}
		id, task, _ := d.Partition.ID.Split()
		job, ok := v.Job(id)
		if !ok {
			continue
		}
		spec, ok := job.Task(task)
		if !ok {
			continue
		}
		out = append(out, protocol.Grant{
			Partition: d.Partition.ID, Token: d.Token, Handover: spec.Handover, Attempt: d.Partition.Attempts,
			Parents: d.Partition.Parents, ListedBy: d.Partition.ListedBy, Input: d.Partition.Input,
			Index: d.Partition.Index, Count: d.Partition.Count, Spec: spec, SpecIndex: job.SpecIndex, From: d.Partition.From, Cause: d.Partition.Cause,
		})
	}
	return out
}

// Granted returns the assignment with these grants, as of an index of the log. It is a new version if the supervisor has something to do.
func Granted(a protocol.Assignment, index cluster.Index, grants []protocol.Grant) protocol.Assignment {
	a.Index = index
	if a.Version == 0 || !slices.EqualFunc(grants, a.Grants, same) {
		a.Grants, a.Version = grants, a.Version+1
	}
	return a
}

// same reports whether two grants ask for the same run.
func same(a, b protocol.Grant) bool {
	return a.Partition == b.Partition && a.Token == b.Token && a.Attempt == b.Attempt && a.SpecIndex == b.SpecIndex
}
