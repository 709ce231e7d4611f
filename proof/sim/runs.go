package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
)

// run is one run of a partition, from Start until its goroutine has returned.
type run struct {
	p         *process
	partition cluster.PartitionID
	token     cluster.Token
	handover  cluster.Handover
	kind      string // of its task type
	began     int64
	ended     int64 // when it failed
	attempt   int64 // how often it had failed before
	stopping  bool
	over      bool
	lingers   bool // it will ignore its cancel for a while
	armed     string
	slot      int   // of its member, from 1; 0 where its task is not of spread pool
	count     int64 // of shares of its task; 0 where it is not repartitioned
	index     int64 // of its share
}

// slotOf is the number of the slot that the grant takes; 0 where its task is not of spread pool.
func slotOf(g *protocol.Grant) int {
	if g.Spec.Spread != cluster.SpreadPool {
		return 0
	}
	_, _, key := g.Partition.Split()
	_, number, _ := strings.Cut(key, ":")
	n, _ := strconv.Atoi(number)
	return n
}

// assign keeps the newest assignment for the supervisor, as the shell's channel does.
func (p *process) assign(a protocol.Assignment) {
	p.assignment = a
	if p.told {
		return
	}
	p.told = true
	longest := int64(2 * time.Millisecond)
	if p.w.now < p.slowWork {
		longest = int64(p.w.plan.ttl) / 4
	}
	p.later(1, longest, func() {
		p.told = false
		p.taken = p.assignment
		p.supervise(supervisor.Assigned{Now: p.clock.at(p.w.now), Assignment: p.assignment})
	})
}

// supervise lets the real supervisor decide and does what it wants.
func (p *process) supervise(ev supervisor.Event) {
	for _, e := range supervisor.Step(p.super, ev) {
		switch e := e.(type) {
		case supervisor.Start:
			p.begin(e)
		case supervisor.Stop:
			p.cancel(e)
		case supervisor.Report:
			p.post(member.Reported{Version: e.Version, Reports: e.Reports})
		case supervisor.WakeAt:
			p.ticks++
			if e.At != 0 {
				p.ring(e.At, &p.ticks, func() { p.supervise(supervisor.Tick{Now: p.clock.at(p.w.now)}) })
			}
		}
	}
}

func (p *process) begin(e supervisor.Start) {
	r := &run{p: p, partition: e.Grant.Partition, token: e.Grant.Token, handover: e.Grant.Handover,
		kind: e.Grant.Spec.Type, began: p.w.now, attempt: e.Grant.Attempt,
		slot: slotOf(e.Grant), count: e.Grant.Count, index: e.Grant.Index}
	p.w.oracle.started(r)
	p.runs = append(p.runs, r)
	switch {
	case r.kind == "finite", e.Grant.ListedBy != "":
		r.returns(p.chance.between(int64(100*time.Millisecond), int64(time.Minute)), supervisor.Finished)
	case r.kind == "window":
		r.nowAndThen(time.Second, 20*time.Second, func() { r.advance(p.state.Value()) })
	case r.kind == "flaky":
		r.returns(p.chance.between(int64(100*time.Millisecond), int64(20*time.Second)), supervisor.Failed)
	}
	r.nowAndThen(10*time.Millisecond, p.w.plan.ttl, func() { p.w.oracle.acted(r) })
}

// nowAndThen lets the run do something that its lease allows, as a runner does that asks Valid before an effect.
func (r *run) nowAndThen(shortest, longest time.Duration, do func()) {
	r.p.later(int64(shortest), int64(longest), func() {
		if r.over {
			return
		}
		if !r.stopping && r.p.leased() {
			do()
		}
		r.nowAndThen(shortest, longest, do)
	})
}

// cancel ends the context of a run: it returns soon, unless it lingers.
func (p *process) cancel(e supervisor.Stop) {
	i := slices.IndexFunc(p.runs, func(r *run) bool { return r.partition == e.Partition && r.token == e.Token })
	if i < 0 {
		return
	}
	r := p.runs[i]
	r.stopping = true
	d := p.chance.between(0, int64(5*time.Millisecond))
	if r.lingers && (r.armed == anyPhase || r.armed == p.phase()) && !p.w.healing {
		p.w.count(machine.RunnerLingers, p.phase())
		d = p.chance.between(int64(p.w.plan.grace)/2, 3*int64(p.w.plan.grace))
	}
	r.returns(d, supervisor.Stopped)
}

// returns ends the run's goroutine after a while; its end reaches the supervisor.
func (r *run) returns(after int64, o supervisor.Outcome) {
	p := r.p
	p.w.after(after, func() {
		p.reaches(func() {
			if r.over {
				return
			}
			if r.stopping {
				o = supervisor.Stopped
			}
			p.exit(r, o)
		})
	})
}

func (p *process) exit(r *run, o supervisor.Outcome) {
	r.over = true
	p.runs = slices.DeleteFunc(p.runs, func(x *run) bool { return x == r })
	p.w.oracle.ended(r)
	switch o {
	case supervisor.Failed:
		r.ended = p.w.now
		p.w.oracle.part(r.partition).failed = r
	case supervisor.Finished:
		p.w.oracle.done[runID{r.partition, r.token}] = true
	}
	ran := time.Duration(p.w.now - r.began)
	p.later(1, int64(time.Millisecond), func() {
		if o == supervisor.Finished && p.given(r) {
			r.p.kept[runID{r.partition, r.token}] = true
		}
		p.supervise(supervisor.Exited{Now: p.clock.at(p.w.now), Partition: r.partition, Token: r.token, Outcome: o,
			Message: "the simulator said so", RanFor: ran})
	})
}

// given tells whether the supervisor has the run's grant.
func (p *process) given(r *run) bool {
	return slices.ContainsFunc(p.taken.Grants,
		func(g *protocol.Grant) bool { return g.Partition == r.partition && g.Token == r.token })
}

// windowSize is how many items a partitioner has outstanding.
const windowSize = 4

// advance takes a step of a partitioner's window, by what its own member has applied, as a runner does. Its input is
// the numbers. While all heals it lists no more, so that there is rest.
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
