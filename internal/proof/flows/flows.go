// Package flows makes a small flow in a queue, for tests of those who look at flows from outside.
//
// # Purpose
//
// A flow that is looked at needs a job in the value and its shards in the queue. [Spec] is such a job, and [Open] makes
// its shards, as the first task that runs does.
package flows

import (
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
)

// Edge and Dead are the shards of the job of Spec: what task read has put out, and the dead letters of task write.
var (
	Edge = store.Shard{Edge: "edge/read/write"}
	Dead = store.Shard{Edge: "dead/write"}
)

// Spec is a job of two tasks of a type: write takes what read puts out.
func Spec(typ string) cluster.JobSpec {
	task := func(name, from string) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: typ, Spread: cluster.SpreadPool, Definition: []byte(from)}
	}
	return cluster.JobSpec{
		Tasks:    []cluster.TaskSpec{task("read", `{}`), task("write", `{"from":[{"task":"read"}]}`)},
		Workflow: cluster.Workflow{Edges: []cluster.Edge{{From: "read", To: "write"}}},
	}
}

// Open makes the flow of a job in a queue, commits these units, and returns the flow's name.
func Open(t testing.TB, v cluster.Value, job cluster.JobID, q store.Queue, units ...store.Unit) string {
	t.Helper()
	j, ok := v.Job(job)
	if !ok {
		t.Fatalf("there is no job %s", job)
	}
	var shards []store.Shard
	for _, s := range must.Get(supervisor.GraphOf(&j))(t).Shards() {
		shards = append(shards, store.Shard(s))
	}
	name := supervisor.FlowName(&j)
	must.Succeed(t, q.MakeFlow(t.Context(), name, shards))
	for _, u := range units {
		must.Succeed(t, must.Err(q.Commit(t.Context(), name, u)))
	}
	return name
}
