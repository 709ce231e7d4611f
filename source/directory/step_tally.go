package directory

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// tally is what one look has changed in the cluster. It keeps few commands: of 100,000 new files the others are let go as they are entered.
type tally struct {
	first []cluster.Command // at most maxLogged, and one more
	count int
}

func (t *tally) add(commands []cluster.Command, results []cluster.Result) {
	for i, res := range results[:min(len(results), len(commands))] {
		if res.Accepted {
			t.count++
			if len(t.first) <= maxLogged {
				t.first = append(t.first, commands[i])
			}
		}
	}
}

// records are what the journal says of it: one for each job, up to a bound, and then one for the others.
func (t *tally) records(scan Scan, name string) []journal.Record {
	var out []journal.Record
	for _, c := range t.first[:min(len(t.first), maxLogged)] {
		id := jobOf(c)
		message := "its file is gone from all copies of source " + name
		if i, ok := slices.BinarySearchFunc(scan.Definitions, id, compareID); ok {
			message = scan.Definitions[i].Path
		}
		out = append(out, journal.Record{Kind: kindOf(c), Partition: string(id), Message: message})
	}
	if more := t.count - len(out); more > 0 {
		out = append(out, journal.Record{
			Kind: kindOf(t.first[len(out)]), Message: fmt.Sprintf("%d tasks more of source %s were added, changed or removed", more, name),
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
