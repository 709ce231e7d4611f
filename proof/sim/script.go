package sim

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
)

// StoreMode is what kind of store the world has.
type StoreMode uint8

// The modes.
const (
	Heartbeats StoreMode = iota // heartbeats are documents that are written again and again
	KernelLock                  // a heartbeat goes with its process, and is written again and again
	Leases                      // a heartbeat goes when its session has been silent for its TTL
)

// String names the mode.
func (m StoreMode) String() string { return [...]string{"heartbeats", "kernel-lock", "leases"}[m] }

// plan is what a seed draws before the run: the world and its script.
type plan struct {
	members int
	ttl     time.Duration
	mode    StoreMode
	watches bool // the store hints at changes
	sparse  bool // indexes are not dense
	slow    int64
	ending  machine.Kind // a fault that ends the run, or ""
	grace   time.Duration
	tasks   int64
	snap    uint64
	rho     int64 // bound on the rates of clocks, thousandths
	budget  int64 // of moves; 0 for the default
	pinned  bool  // what runs stays where it is until it is rebalanced
	script  []Fault
	// guardians: each member has one, as rota run gives it.
	guardians bool
	// paced: members may state a longer TTL while their renewals are slow, as those of rota run do.
	paced bool
}

func drawPlan(c Config) plan {
	r := stream(c.Seed, "plan")
	p := plan{
		members: int(1 + min(r.between(0, 14), r.between(1, 14), r.between(1, 14))), // mostly few: that is where orders are explored best
		ttl:     time.Duration(pick(r, []int64{4, 8, 10, 15, 15, 20, 30, 30})) * time.Second,
		mode:    StoreMode(r.IntN(3)),
		watches: !r.oneIn(4), sparse: r.oneIn(2), slow: r.between(1, 40),
		grace: time.Duration(r.between(1, 10)) * time.Second,
		tasks: r.between(1, 12), snap: uint64(r.between(20, 400)), rho: c.Drift,
	}
	if r.oneIn(2) {
		p.budget = r.between(4, 12)
	}
	switch c.Seed % 50 {
	case 48:
		p.ending = machine.TailLost
	case 49:
		p.ending = machine.NewerEntry
	}
	p.pinned = c.Seed%12 == 11
	p.paced = stream(c.Seed, "paced").oneIn(2) // a stream of its own: what the others do stays as it is
	p.script = drawScript(c.Machine.Faults, stream(c.Seed, "script"), int64(c.Duration))
	if (c.Seed%4 == 2 && p.mode != Heartbeats || c.Seed%8 == 5 && p.mode == Heartbeats) &&
		c.Machine.Has(machine.GuardianEnds) {
		p.guardians = true
		p.script = withFaults(c, p.script, "guardian faults", machine.GuardianLate, machine.GuardianDoubled,
			machine.GuardianLost, machine.GuardianCutOff)
	}
	if c.Seed%3 == 1 && c.Machine.Has(machine.TornCall) { // not in all: what the others do stays as it is
		p.script = withFaults(c, p.script, "torn faults", machine.TornCall, machine.LateIndex)
	}
	if !c.Machine.Has(p.ending) {
		p.ending = ""
	}
	return p
}

// Fault is one line of a run's script.
type Fault struct {
	At    int64 // true time, ns, from which on it waits for its phase
	Kind  machine.Kind
	Phase string // of the member that it hits; "" for any
	Draw  uint64 // seed of what else it needs: which member, how long
}

// faultsPerHour is what a script aims at.
const faultsPerHour = 700

// anyPhase is the phase of a fault that may hit a member in each of its phases.
const anyPhase = ""

// drawScript draws which faults are on in this run, and when which is due.
func drawScript(table []machine.Fault, r chance, length int64) []Fault {
	var on []machine.Fault
	total := int64(0)
	for _, k := range table {
		if k.Weight > 0 && !r.oneIn(3) { // swarm: a fault that is off lets others show
			on = append(on, k)
			total += k.Weight
		}
	}
	if len(on) == 0 {
		return nil
	}
	n := faultsPerHour * length / int64(time.Hour)
	n = r.between(n/2, n+n/2)
	out := make([]Fault, 0, n)
	for range n {
		k := drawKind(r, on, total)
		f := Fault{At: r.between(0, length), Kind: k.Kind, Draw: r.Uint64()}
		if len(k.Phases) > 1 && r.oneIn(2) {
			f.Phase = pick(r, k.Phases)
		}
		out = append(out, f)
	}
	return inOrder(out)
}

// withFaults adds faults of some kinds to a script, from a stream of their own: about one a minute.
func withFaults(c Config, script []Fault, name string, kinds ...machine.Kind) []Fault {
	r := stream(c.Seed, name)
	for range int64(c.Duration) / int64(time.Minute) {
		f := Fault{At: r.between(0, int64(c.Duration)), Kind: pick(r, kinds), Draw: r.Uint64()}
		if r.oneIn(2) {
			f.Phase = pick(r, c.Machine.Info(f.Kind).Phases)
		}
		script = append(script, f)
	}
	return inOrder(script)
}

func inOrder(script []Fault) []Fault {
	slices.SortStableFunc(script, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return script
}

func drawKind(r chance, on []machine.Fault, total int64) machine.Fault {
	at := r.Int64N(total)
	for _, k := range on {
		if at -= k.Weight; at < 0 {
			return k
		}
	}
	return on[len(on)-1]
}

// Shrink leaves out faults of a run that broke a promise, as long as the same promise stays broken, in at most so many
// runs. It returns the config of the shortest run found, with its script, and that run's result.
func Shrink(c Config, runs int) (Config, Result) {
	c.Trace = nil
	best := Run(c)
	if best.Violation == nil {
		return c, best
	}
	if !c.Scripted {
		c.Script, c.Scripted = drawPlan(withDefaults(c)).script, true
	}
	try := func(next Config) bool {
		if runs--; runs < 0 {
			return false
		}
		r := Run(next)
		if r.Violation == nil || r.Violation.Promise != best.Violation.Promise {
			return false
		}
		c, best = next, r
		return true
	}
	if shorter := time.Duration(best.Violation.At) + time.Second; shorter < withDefaults(c).Duration {
		next := c
		next.Duration = shorter
		try(next)
	}
	for size := max(1, len(c.Script)/2); runs > 0; size /= 2 {
		for at := 0; at < len(c.Script) && runs > 0; {
			next := c
			next.Script = slices.Delete(slices.Clone(c.Script), at, min(len(c.Script), at+size))
			if !try(next) {
				at += size
			}
		}
		if size == 1 {
			break
		}
	}
	return c, best
}

// chance is one stream of randomness. Streams are independent: what one member draws does not change what another one
// gets.
type chance struct{ *rand.Rand }

// stream is the stream of a seed for one purpose.
func stream(seed uint64, purpose ...string) chance {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(purpose, "\x00")))
	return chance{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// between draws from lo to hi, both included.
func (c chance) between(lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + c.Int64N(hi-lo+1)
}

// oneIn is true once in n times.
func (c chance) oneIn(n int64) bool { return c.Int64N(n) == 0 }

func pick[T any](c chance, of []T) T { return of[c.IntN(len(of))] }

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
