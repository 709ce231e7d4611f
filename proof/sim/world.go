package sim

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// Config of one run. Equal configs give equal runs.
type Config struct {
	Machine  *machine.Machine
	Seed     uint64
	Duration time.Duration // of virtual time under faults; default 1 h
	Script   []Fault       // instead of the one that the seed draws; with Scripted
	Scripted bool
	// Drift is how wrong the rates of clocks may be, in thousandths; default 50, the bound that members count on.
	// Beyond it owners may overlap: a run with more shows that the simulator would notice.
	Drift int64
	// Trace gets one line per event up to event TraceTo (0: all).
	Trace   io.Writer
	TraceTo uint64
}

// world is one run.
type world struct {
	conf    Config
	machine *machine.Machine
	plan    plan
	now     int64
	queue   queue
	seq     uint64
	chance  chance    // of the world itself: ties, the store
	events  uint64    // steps of members so far
	digest  hash.Hash // of the whole text of the trace
	text    []byte    // of the last step
	disk    *disk
	procs   []*process // all that were ever started
	starts  int
	names   map[cluster.MemberID]int // how often each was started
	oracle  *oracle
	client  *client
	waiting []Fault // faults that wait for their phase
	healing bool
	late    int64 // when the last write that the store delays is done
	// saved is how many entries had been applied when the newest snapshot was written, by a member or behind their
	// backs.
	saved  uint64
	result Result
}

// Run runs one world to its end, or to the first broken promise.
func Run(c Config) Result {
	c = withDefaults(c)
	w := &world{conf: c, machine: c.Machine, digest: sha256.New(), plan: drawPlan(c), chance: stream(c.Seed, "world"),
		names: map[cluster.MemberID]int{}}
	if c.Scripted {
		w.plan.script = c.Script
	}
	w.result = Result{Seed: c.Seed, TTL: w.plan.ttl, Mode: w.plan.mode, Faults: map[machine.Kind]int{},
		Pairs: map[machine.Pair]int{}}
	w.disk = &disk{w: w, tombs: map[string]*process{},
		room: &room{w: w, group: memory.NewGroup(0), waits: map[uint64]func(memory.GroupAnswer){}}}
	w.oracle, w.client = newOracle(w), newClient(w)
	for i := range w.plan.members {
		w.after(w.chance.between(0, int64(10*time.Second)),
			func() { w.start(cluster.MemberID(fmt.Sprintf("m%02d", i))) })
	}
	for _, f := range w.plan.script {
		w.after(f.At, func() { w.strike(f) })
	}
	w.client.insist()
	w.remember()
	w.pass(c.Duration)
	switch {
	case w.broken():
	case w.plan.ending != "":
		w.doom()
	default:
		w.heal()
	}
	return w.finish()
}

func withDefaults(c Config) Config {
	c.Duration = cmp.Or(c.Duration, time.Hour)
	c.Drift = cmp.Or(c.Drift, 50)
	return c
}

// remember keeps what there is, so that it can be shown when it is old.
func (w *world) remember() {
	w.disk.isolate()
	w.after(w.chance.between(1, 2*int64(w.plan.ttl)), w.remember)
}

func (w *world) after(d int64, do func()) {
	w.seq++
	heap.Push(&w.queue, happening{at: w.now + max(0, d), tie: w.chance.Uint64(), seq: w.seq, do: do})
}

// until lets things happen until an instant, until enough, or until a promise is broken; it tells whether it was
// enough.
func (w *world) until(t int64, enough func() bool) bool {
	for len(w.queue) > 0 && !w.broken() {
		if enough() {
			return true
		}
		if w.queue[0].at > t {
			break
		}
		h := heap.Pop(&w.queue).(happening)
		w.now = h.at
		h.do()
	}
	w.now = max(w.now, t)
	return enough()
}

// pass lets things happen for a time, or until a promise is broken.
func (w *world) pass(d time.Duration) { w.until(w.now+int64(d), func() bool { return false }) }

func (w *world) broken() bool { return w.oracle.violation != nil }

// stepped is called after every step of a member.
func (w *world) stepped(p *process, ev machine.Event, fx []machine.Effect) {
	w.events++
	w.text = append(strconv.AppendInt(append(w.text[:0], '\n'), w.now, 10), ' ')
	w.text = append(strconv.AppendInt(w.text, int64(p.id), 10), ' ')
	w.text = append(append(w.text, p.state.Phase()...), " Value"...)
	w.text = append(machine.AppendText(machine.AppendValue(w.text, p.state.Value()), ev), " → "...)
	for _, e := range fx {
		w.text = append(machine.AppendText(w.text, e), ", "...)
	}
	w.digest.Write(w.text) // never fails
	if w.traces() {
		w.trace(p, ev, fx)
	}
}

// tell hints at a change of a document, or, for "", of the log, as a store that has watches does.
func (w *world) tell(key string) {
	if !w.plan.watches {
		return
	}
	for _, p := range w.procs {
		if !p.up {
			continue
		}
		for _, prefix := range w.machine.Told(p.state, key) {
			w.hint(p, prefix)
		}
	}
}

// hint tells a member of a change below a prefix, or, where that is empty, of the log.
func (w *world) hint(p *process, prefix string) {
	d := p.chance.between(int64(50*time.Microsecond), int64(5*time.Millisecond))
	if p.takes(func(k machine.Kind) bool { return k == machine.WatchLost }) != "" {
		return
	}
	if p.takes(func(k machine.Kind) bool { return k == machine.WatchLate }) != "" {
		d = p.chance.between(0, 2*int64(w.plan.ttl))
	}
	if p.hinted[prefix] {
		return // merged with the one that is on its way
	}
	p.hinted[prefix] = true
	w.after(d, func() {
		p.reaches(func() {
			p.hinted[prefix] = false
			if !p.cutIn && !w.disk.away {
				p.post(member.Hinted{Prefix: prefix})
			}
		})
	})
}

// anyProcess draws one of those that suit, nil when there is none.
func (w *world) anyProcess(suits func(*process) bool) *process {
	found := w.processes(suits)
	if len(found) == 0 {
		return nil
	}
	return pick(w.chance, found)
}

func (w *world) processes(suits func(*process) bool) []*process {
	var found []*process
	for _, p := range w.procs {
		if p.up && suits(p) {
			found = append(found, p)
		}
	}
	return found
}

func alive(*process) bool { return true }

// died starts a process again after a while, under its name or another one.
func (w *world) died(p *process) {
	w.procs = slices.DeleteFunc(w.procs, func(o *process) bool { return o == p })
	if w.healing {
		if w.plan.ending == "" && len(w.processes(alive)) == 0 { // it was about to leave; the operator wants the cluster back
			w.start(p.name)
		}
		return
	}
	name, kind := p.name, machine.RestartSame
	if p.chance.oneIn(6) {
		name, kind = cluster.MemberID(fmt.Sprintf("%.3s-%d", p.name, w.starts)), machine.RestartOther
	}
	w.after(p.chance.between(int64(10*time.Millisecond), int64(40*time.Second)), func() {
		if w.healing || len(w.processes(alive)) >= w.plan.members {
			return
		}
		if w.lives(name) {
			name, kind = cluster.MemberID(fmt.Sprintf("%.3s-%d", name, w.starts)), machine.RestartOther
		}
		w.count(kind, machine.Cluster)
		w.start(name)
	})
}

func (w *world) count(k machine.Kind, phase string) {
	w.result.Faults[k]++
	w.result.Pairs[machine.Pair{Kind: k, Phase: phase}]++
}

// happening is something that is due at an instant of true time.
type happening struct {
	at  int64
	tie uint64 // drawn by the world: the order of what is due at the same instant is explored, not fixed
	seq uint64
	do  func()
}

// queue is a heap of what is due. No two are equal: any heap yields them in the same order.
type queue []happening

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	*q = slices.Delete(*q, last, last+1) // what it holds is let go
	return h
}

// Less orders by instant, then by chance.
func (q queue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.tie, b.tie), cmp.Compare(a.seq, b.seq)) < 0
}

// clock is the suspend-aware clock of one machine: it starts anywhere and its rate is wrong by some thousandths.
type clock struct {
	base  int64 // true time of the last change of rate
	local int64 // what it showed then
	rate  int64 // thousandths that it is too fast
}

func (c *clock) at(trueTime int64) protocol.Instant {
	return protocol.Instant(c.local + (trueTime-c.base)*(1000+c.rate)/1000)
}

// when is the first true time at which the clock shows at least t.
func (c *clock) when(t protocol.Instant) int64 {
	return c.base + ((int64(t)-c.local)*1000+999+c.rate)/(1000+c.rate)
}

func (c *clock) setRate(trueTime, rate int64) {
	c.local, c.base, c.rate = int64(c.at(trueTime)), trueTime, rate
}
