package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
)

// windowSize is how many items a partitioner has outstanding.
const windowSize = 4

// windowed runs a partitioner, or one of its items.
func (r *run) windowed(g *protocol.Grant) {
	if g.ListedBy != "" {
		r.returns(r.p.chance.between(int64(100*time.Millisecond), int64(time.Minute)), supervisor.Finished)
		return
	}
	r.lists()
}

// lists takes a step of the window now and then, by what its own member has applied, as a runner does. Its input is the numbers. While all heals it
// lists no more, so that there is rest.
func (r *run) lists() {
	p := r.p
	p.later(int64(time.Second), int64(20*time.Second), func() {
		if r.over {
			return
		}
		if !r.stopping && p.leased() {
			r.advance(p.state.Value())
		}
		r.lists()
	})
}

func (r *run) advance(v cluster.Value) {
	p, ok := v.Partition(r.partition)
	if !ok || p.Token != r.token {
		return
	}
	c := cluster.AdvanceWindow{Partition: p.ID, Token: p.Token, Step: p.Step, Cursor: p.Cursor}
	outstanding := 0
	for it := range v.Window(p.ID) {
		if it.State == cluster.PartitionFinished {
			_, _, key := it.ID.Split()
			c.Done = append(c.Done, key)
		} else {
			outstanding++
		}
	}
	next, _ := strconv.Atoi(string(p.Cursor))
	_, _, list := p.ID.Split()
	for ; outstanding < windowSize && !r.p.w.healing; outstanding++ {
		c.Items = append(c.Items, cluster.Item{Key: fmt.Sprintf("%s-%06d", list, next)})
		next++
	}
	c.Cursor = []byte(strconv.Itoa(next))
	if len(c.Done)+len(c.Items) > 0 {
		r.p.propose("advance", c)
	}
}

// propose writes what a runner of the process wants written; like the operator it hears what became of it.
func (p *process) propose(what string, commands ...cluster.Command) {
	c := p.w.client
	c.nextID++
	c.asked[c.nextID] = &question{what: what, commands: commands, of: p, at: p.w.now}
	p.post(member.Proposed{ID: c.nextID, Commands: commands})
}

// windows: each number is listed once, and goes after a run of it has really ended well.
func (o *oracle) windows(e cluster.Entry, before cluster.Value, done cluster.Applied) {
	for i, command := range e.Commands {
		c, ok := command.(cluster.AdvanceWindow)
		if !ok || !done.Results[i].Accepted {
			continue
		}
		job, task, key := c.Partition.Split()
		l := o.listings[c.Partition]
		if c.Step == 0 { // the first of a life of the job
			l = map[cluster.PartitionID]int{}
			o.listings[c.Partition] = l
		}
		for _, it := range c.Items {
			id := cluster.NewPartitionID(job, task, it.Key)
			if l[id]++; l[id] > 1 {
				o.violate("G6", fmt.Sprintf("%s has listed %s twice", key, id))
			}
		}
		if next, _ := strconv.Atoi(string(c.Cursor)); next != len(l) {
			o.violate("G5", fmt.Sprintf("%s is at %d and has listed %d", c.Partition, next, len(l)))
		}
		for _, k := range c.Done {
			if p, _ := before.Partition(cluster.NewPartitionID(job, task, k)); !o.done[runID{p.ID, p.Token}] {
				o.violate("G6", fmt.Sprintf("%s was taken out under token %d, and no run under it has ended well", p.ID, p.Token))
			}
		}
	}
}

// together tells whether two shares were given out together: by one entry of the log or, where members claim them one by one, as other parts of as many.
func (o *oracle) together(a, b *run) bool {
	if o.w.machine.Fold != nil {
		return a.token == b.token
	}
	return a.partition == b.partition || a.count == b.count && a.index != b.index
}

// shared: no two runs of a task that is repartitioned have another number of shares. As everywhere, what is suspended or ignores its cancel is excused.
func (o *oracle) shared(r *run) {
	if r.count == 0 || o.doomed {
		return
	}
	job, task, _ := r.partition.Split()
	for id, runs := range o.running { // order-free: one that is broken is enough
		if j, t, _ := id.Split(); j != job || t != task {
			continue
		}
		for _, other := range runs {
			if other.count != 0 && !o.together(r, other) && !other.p.paused && other.p.leased() {
				o.violate("G2", fmt.Sprintf("%s starts on %s as one of %d, and %s runs on %s as one of %d", r.partition, r.p.name, r.count, id, other.p.name, other.count))
			}
		}
	}
}
