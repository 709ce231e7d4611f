package directory

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// tally is what one look has changed in the cluster.
type tally struct {
	done []cluster.Command
}

func (t *tally) add(commands []cluster.Command, results []cluster.Result) {
	for i, res := range results[:min(len(results), len(commands))] {
		if res.Accepted {
			t.done = append(t.done, commands[i])
		}
	}
}

// records are what the journal says of it: one for each job, up to a bound, and then one for the others.
func (t *tally) records(scan Scan, name string) []journal.Record {
	var out []journal.Record
	for _, c := range t.done[:min(len(t.done), maxLogged)] {
		id := jobOf(c)
		message := "its file is gone from all copies of source " + name
		if i, ok := slices.BinarySearchFunc(scan.Definitions, id, compareID); ok {
			message = scan.Definitions[i].Path
		}
		out = append(out, journal.Record{Kind: kindOf(c), Partition: string(id), Message: message})
	}
	if more := len(t.done) - len(out); more > 0 {
		out = append(out, journal.Record{
			Kind: kindOf(t.done[len(out)]), Message: fmt.Sprintf("%d tasks more of source %s were added, changed or removed", more, name),
		})
	}
	return out
}

func kindOf(c cluster.Command) journal.Kind {
	switch c.(type) {
	case cluster.SubmitJob:
		return journal.TaskAdded
	case cluster.UpdateJob:
		return journal.TaskChanged
	}
	return journal.TaskRemoved
}
