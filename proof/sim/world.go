package sim

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/machine"
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
	// Trace gets one line per event up to event TraceTo (0: all). With Whole a line has all that an event and its
	// effects say, not how that begins.
	Trace   io.Writer
	TraceTo uint64
	Whole   bool
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
	w.result = Result{Seed: c.Seed, TTL: w.plan.ttl, Mode: w.plan.mode, Faults: map[machine.Pair]int{}}
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
	r := w.result
	r.Duration, r.Entries = time.Duration(w.now), w.oracle.ref.Applied()
	r.Digest = binary.BigEndian.Uint64(w.digest.Sum(nil))
	return r
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

func (w *world) broken() bool { return w.result.Violation != nil }

// stepped is called after every step of a member.
func (w *world) stepped(p *process, ev machine.Event, fx []machine.Effect) {
	w.result.Events++
	w.text = append(strconv.AppendInt(append(w.text[:0], '\n'), w.now, 10), ' ')
	w.text = append(strconv.AppendInt(w.text, int64(p.id), 10), ' ')
	w.text = append(append(w.text, p.phase()...), " Value"...)
	w.text = append(machine.AppendText(machine.AppendValue(w.text, p.state.Value()), ev), " → "...)
	for _, e := range fx {
		w.text = append(machine.AppendText(w.text, e), ", "...)
	}
	w.digest.Write(w.text) // never fails
	if w.traces() {
		w.trace(p, ev, fx)
	}
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
	w.result.Faults[machine.Pair{Kind: k, Phase: phase}]++
}

// trace writes one line about a step: its number, when, whose, what came in, what went out, and the value behind it.
func (w *world) trace(p *process, ev machine.Event, fx []machine.Effect) {
	out := make([]string, len(fx))
	for i, e := range fx {
		out[i] = w.describe(e)
	}
	v := p.state.Value()
	fmt.Fprintf(w.conf.Trace, "%7d %12s %-8s %-8s value %d/%s  %s → %s\n", w.result.Events,
		time.Duration(w.now).Round(time.Microsecond), p.label(), p.phase(),
		v.Index(), v.Digest(), w.describe(ev), strings.Join(out, ", "))
}

func (p *process) label() string { return fmt.Sprintf("%s#%d", p.name, p.id) }

// note writes a line about what is not a step.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.digest, "\n%d "+format, append([]any{w.now}, args...)...)
	if w.traces() {
		fmt.Fprintf(w.conf.Trace, "%7s %12s %s\n", "", time.Duration(w.now).Round(time.Microsecond),
			fmt.Sprintf(format, args...))
	}
}

// describe is what there is to an event or an effect, or how that begins.
func (w *world) describe(x any) string {
	if w.conf.Whole {
		return string(machine.AppendText(nil, x))
	}
	return machine.Short(x)
}

func (w *world) traces() bool {
	return w.conf.Trace != nil && (w.conf.TraceTo == 0 || w.result.Events <= w.conf.TraceTo)
}

// Result is what a run showed.
type Result struct {
	Seed     uint64
	Duration time.Duration // of virtual time, healing included
	TTL      time.Duration
	Mode     StoreMode
	Events   uint64 // steps of members
	Entries  uint64 // of the log
	Moves    int64  // new tokens
	Faults   map[machine.Pair]int
	Gap      Timed // without an owner after a single failure: the one that came nearest to its bound
	Recovery Timed // until all was well after the last fault
	// Overlap is the longest time for which two owners ran a partition that at most one may run: excused, for the
	// former one was suspended, or ignored its cancel after it had lost its lease.
	Overlap time.Duration
	Refused uint64 // effects on a resource that is fenced by tokens
	// Digest is a hash of all that happened, with the text of every event and effect: equal configs, equal digests.
	Digest    uint64
	Violation *Violation
}

// Timed is how long something took, and how long it may take.
type Timed struct{ Took, Bound time.Duration }

// String rounds both.
func (t Timed) String() string {
	return fmt.Sprintf("%s of %s", t.Took.Round(time.Millisecond), t.Bound.Round(time.Millisecond))
}

// Nearer tells whether it is nearer to its bound than another one, or there is no other one.
func (t Timed) Nearer(o Timed) bool {
	return o.Bound == 0 || t.Took.Seconds()*o.Bound.Seconds() > o.Took.Seconds()*t.Bound.Seconds()
}

// Violation is a broken promise.
type Violation struct {
	Seed    uint64
	Event   uint64
	At      int64 // ns of virtual time
	Promise string
	What    string
}

// Error says which promise was broken, where, and how to see it again.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s broken in seed %d at event %d (%s): %s", v.Promise, v.Seed, v.Event, time.Duration(v.At),
		v.What)
}
