package sim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
)

// trace writes one line about a step: its number, when, whose, what came in, what went out, and the value behind it.
func (w *world) trace(p *process, ev machine.Event, fx []machine.Effect) {
	out := make([]string, len(fx))
	for i, e := range fx {
		out[i] = machine.Short(e)
	}
	v := p.state.Value()
	fmt.Fprintf(w.conf.Trace, "%7d %12s %-8s %-8s value %d/%s  %s → %s\n", w.events,
		time.Duration(w.now).Round(time.Microsecond), p.label(), p.state.Phase(),
		v.Index(), v.Digest(), machine.Short(ev), strings.Join(out, ", "))
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

func (w *world) traces() bool {
	return w.conf.Trace != nil && (w.conf.TraceTo == 0 || w.events <= w.conf.TraceTo)
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
	Faults   map[machine.Kind]int
	Pairs    map[machine.Pair]int
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

func (w *world) finish() Result {
	r := w.result
	r.Duration, r.Events, r.Entries = time.Duration(w.now), w.events, w.oracle.ref.Applied()
	r.Moves, r.Overlap, r.Refused = w.oracle.moves, time.Duration(w.oracle.overlap), w.oracle.refused
	r.Digest, r.Violation = binary.BigEndian.Uint64(w.digest.Sum(nil)), w.oracle.violation
	return r
}
