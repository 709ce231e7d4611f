package source

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// ReadTask parses the one task of a job that a program defines: a JSON object with the fields of a task file, and min, max and repartition for spread
// pool. It is checked like a file; its *[MalformedError] has no line.
func ReadTask(id cluster.JobID, data []byte, types work.Types) (cluster.JobSpec, error) {
	f := &file{path: string(id), data: string(data)}
	switch err := cluster.CheckName(string(id)); {
	case err != nil:
		return cluster.JobSpec{}, f.fault(place{}, "it cannot be the id of a job: "+err.Error(), "")
	case strings.HasPrefix(string(id), "rota."):
		return cluster.JobSpec{}, f.fault(place{}, `names that begin with "rota." are reserved`, "another name")
	}
	root, err := f.readJSON()
	if err != nil {
		return cluster.JobSpec{}, err
	}
	root.nowhere()
	t := &taskDecoder{decoder: &decoder{file: f, types: types, root: root, node: true}}
	t.body(&t.spec, append(t.placement(&t.spec), t.onSlots()...))
	t.checkSpread()
	_, every := root.get("every")
	_, cron := root.get("cron")
	if kind := types[t.spec.Type]; kind.Periodic && kind.DefaultEvery == 0 && !every && !cron {
		t.fail(place{}, fmt.Sprintf("type %s is periodic and has no period of its own", kind.Name), "give it every, or a cron line")
	}
	return t.jobOf(id, t.spec)
}

// nowhere takes the places out of a tree that nobody has written by hand.
func (n *node) nowhere() {
	n.place = place{}
	for _, item := range n.items {
		item.nowhere()
	}
	for i := range n.pairs {
		n.pairs[i].place = place{}
		n.pairs[i].value.nowhere()
	}
}
