package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// client is the operator: it wants certain jobs to be there, and asks again until they are.
type client struct {
	w           *world
	wanted      []cluster.SubmitJob
	nextID      uint64
	nextVersion int
	asked       map[uint64]*question // what is under way
	drains      cluster.MemberID     // whom it drains on purpose while all else is well
	budget      int64                // of moves, that it wants; 0 for the one that there is
	evens       bool                 // it wants a pinned cluster to be even
	since       int64                // when it last asked for jobs
	trims       bool                 // the log is trimmed as soon as it has what was asked for: who asked reads a snapshot instead
}

// The bounds of all back-offs that are asked for.
const (
	shortestRetry = 100 * time.Millisecond
	longestRetry  = 2 * time.Second
)

const retrySoon = `{"retry":{"min_ms":200,"max_ms":2000}}`

func newClient(w *world) *client {
	c := &client{w: w, asked: map[uint64]*question{}, budget: w.plan.budget}
	n := w.plan.tasks
	c.want("steady", task("steady", cluster.HandoverAtMostOne, keys("k", n)))
	c.want("smooth", task("steady", cluster.HandoverNoGap, keys("n", 1+n/3)))
	c.want("quick", task("steady", cluster.HandoverFast, keys("q", 1+n/4)))
	c.want("batch", task("finite", cluster.HandoverAtMostOne, keys("b", n)))
	c.want("flaky", task("flaky", cluster.HandoverAtMostOne, keys("f", 1+n/4)))
	spread := task("steady", cluster.HandoverAtMostOne, nil)
	spread.Spread = cluster.SpreadEvery
	c.want("everywhere", spread)
	spread.Spread, spread.SpreadOver = cluster.SpreadSingle, "zone"
	c.want("one", spread)
	if !w.machine.Group {
		c.wantFlow("stream", true, "steady", "steady")
		c.wantFlow("flow", false, "finite", "finite", "finite")
		c.wantFlow("shared", false, "steady")
		c.wanted[len(c.wanted)-1].Spec.Tasks[0].Repartition = true
	}
	c.want("window", task("window", cluster.HandoverAtMostOne, keys("l", 1+n/6)))
	return c
}

func task(typ string, h cluster.Handover, keys []string) cluster.TaskSpec {
	t := cluster.TaskSpec{Type: typ, Spread: cluster.SpreadPartitioned, Handover: h, Partitions: keys,
		Definition: []byte(retrySoon)}
	if typ == "flaky" {
		t.MaxAttempts = 5
	}
	return t
}

func keys(prefix string, n int64) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return out
}

// wantFlow wants a workflow of tasks of spread pool, one behind the other.
func (c *client) wantFlow(id cluster.JobID, coverage bool, types ...string) {
	spec := cluster.JobSpec{Workflow: cluster.Workflow{Coverage: coverage}}
	for i, typ := range types {
		t := cluster.TaskSpec{Name: fmt.Sprint("t", i), Type: typ, Spread: cluster.SpreadPool,
			Definition: []byte(retrySoon)}
		if i > 0 {
			spec.Edges = append(spec.Edges, cluster.Edge{From: spec.Tasks[i-1].Name, To: t.Name})
		}
		spec.Tasks = append(spec.Tasks, t)
	}
	c.wanted = append(c.wanted, cluster.SubmitJob{Job: id, Spec: spec})
}

func (c *client) want(id cluster.JobID, t cluster.TaskSpec) {
	c.wanted = append(c.wanted, cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{t}}})
}

// insist proposes what is not there, through any member that is joined, again and again.
func (c *client) insist() {
	w := c.w
	w.after(int64(time.Second), c.insist)
	if w.now < c.since+2*int64(w.plan.ttl) && w.now > 0 && c.since > 0 {
		return
	}
	var missing []cluster.Command
	for _, j := range c.wanted {
		if have, ok := w.oracle.ref.Job(j.Job); !ok || have.State != cluster.JobRunning {
			c.nextVersion++
			j.Spec.Version = strconv.Itoa(c.nextVersion) // what has ended is wanted again
			missing = append(missing, j)
		}
	}
	if c.budget != 0 && w.oracle.ref.Settings().MoveBudget != c.budget {
		missing = append(missing, cluster.Configure{MoveBudget: c.budget})
	}
	if s := w.oracle.ref.Settings(); w.plan.pinned && !s.Pinned {
		missing = append(missing, cluster.Configure{MoveBudget: cluster.NoMoves})
	} else if c.evens && s.Pinned && !s.Rebalancing && w.uneven() != "" {
		missing = append(missing, cluster.Rebalance{})
	}
	if len(missing) > 0 && c.propose("submit", missing...) {
		c.since = w.now
	}
}

// propose gives commands to a member; its answer may never come.
func (c *client) propose(what string, commands ...cluster.Command) bool {
	p := c.w.anyProcess(func(p *process) bool { return p.joined() && !p.paused })
	if p == nil {
		return false
	}
	p.propose(what, commands...)
	return true
}

// question is what the operator has asked a member for.
type question struct {
	what     string
	commands []cluster.Command
	of       *process
	at       int64
	truth    [][]cluster.Result // what entries with these commands did
}

// applied notes what an entry did with what was asked for.
func (c *client) applied(e cluster.Entry, done cluster.Applied) {
	if done.Duplicate {
		return
	}
	for id, q := range c.asked { // order-free: each is looked at alone
		if !q.of.up {
			delete(c.asked, id)
			continue
		}
		n := len(q.commands)
		for i := 0; i+n <= len(e.Commands); i++ {
			if reflect.DeepEqual(e.Commands[i:i+n], q.commands) {
				q.truth = append(q.truth, done.Results[i:i+n])
				if c.trims {
					c.trims = false
					c.w.after(0, c.w.truncate)
				}
			}
		}
	}
}

// reply takes in an answer: there is one for each question, and it says what the log says.
func (c *client) reply(e member.Reply) {
	q, ok := c.asked[e.ID]
	if !ok {
		c.w.oracle.violate("G5", "request %d was answered twice", e.ID)
		return
	}
	delete(c.asked, e.ID)
	if c.w.machine.Fold == nil { // there is no log to compare it with
		return
	}
	right := slices.ContainsFunc(q.truth, func(r []cluster.Result) bool { return slices.Equal(r, e.Results) })
	if len(e.Results) > 0 && !right && !c.w.oracle.doomed {
		c.w.oracle.violate("G5", "request %d (%s) was answered %v, the log says %v", e.ID, q.what, e.Results, q.truth)
	}
}

// unanswered is a question that a member which lives has owed an answer for longer than a time; "" for none.
func (c *client) unanswered(longer time.Duration) string {
	for _, id := range slices.Sorted(maps.Keys(c.asked)) {
		if q := c.asked[id]; q.of.up && !q.of.paused && c.w.now-q.at > int64(longer) {
			return fmt.Sprintf("request %d (%s) to %s, asked for %s ago, has no answer", id, q.what, q.of.name,
				time.Duration(c.w.now-q.at))
		}
	}
	return ""
}
