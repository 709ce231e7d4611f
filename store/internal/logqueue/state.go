package logqueue

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
)

// state is a flow as its operations have made it.
type state struct {
	made, dropped bool
	order         []store.Shard
	shards        []*shard
	units         map[string]bool // with a name
	bundles       map[string]int  // how many parcels need each
	skipped       int             // records that are no operations
}

type shard struct {
	waiting  ordered.Map[uint64, *parcel] // not acknowledged, by number
	stored   uint64
	segments uint64
	pending  uint64 // segments
	sealed   bool
}

// parcel is a message that is not acknowledged.
type parcel struct {
	output
	delivered uint64
	lease     uint64    // as it was given last; 0: nobody has it
	until     time.Time // of the lease, by the clock of who reads
	picked    bool      // a call of this handle is about to take it
}

// outcome is what became of an operation.
type outcome struct {
	err   error
	fresh []bool     // of a commit
	won   []delivery // of a take: as they are delivered now
	freed []string   // of a commit: where data are that nobody needs any more
}

// apply adds an operation that is read at an instant. What it cannot be it is not: nothing happens.
func (s *state) apply(op operation, now time.Time) outcome {
	switch {
	case op.Kind == opMake:
		return outcome{err: s.make(op.Make)}
	case s.dropped || !s.made:
		return outcome{err: fmt.Errorf("the flow: %w", store.ErrNotFound)}
	case op.Kind == opDrop:
		*s = state{made: true, dropped: true}
	case op.Kind == opTake:
		return s.take(op.Take, now)
	case op.Kind == opRelet:
		s.relet(op.Relet, now)
	default:
		return s.commit(op.Commit)
	}
	return outcome{}
}

func (s *state) make(shards []store.Shard) error {
	switch {
	case s.dropped:
		return fmt.Errorf("it was dropped: %w", store.ErrConflict)
	case s.made && !slices.Equal(s.order, shards):
		return fmt.Errorf("it has other shards: %w", store.ErrConflict)
	case s.made:
		return nil
	}
	*s = state{made: true, order: shards, shards: make([]*shard, len(shards)), units: make(map[string]bool),
		bundles: make(map[string]int)}
	for i := range s.shards {
		s.shards[i] = &shard{}
	}
	return nil
}

var errNoShard = fmt.Errorf("the flow has none: %w", store.ErrNotFound)

// find is the place of a shard.
func (s *state) find(name store.Shard) (int, error) {
	if !s.made || s.dropped {
		return 0, fmt.Errorf("the flow: %w", store.ErrNotFound)
	}
	i := slices.Index(s.order, name)
	if i < 0 {
		return 0, fmt.Errorf("shard %d of %s: %w", name.Number, name.Edge, errNoShard)
	}
	return i, nil
}

func (s *state) at(i int) *shard {
	if i < 0 || i >= len(s.shards) {
		return &shard{}
	}
	return s.shards[i]
}

// take gives the next delivery of messages to the first who asks for it.
func (s *state) take(t take, now time.Time) (out outcome) {
	from := s.at(t.Shard)
	for _, m := range t.Messages {
		if p, ok := ordered.Get(&from.waiting, m[0]); ok && p.delivered == m[1] {
			p.delivered++
			p.let(t.Lease, now)
			out.won = append(out.won, delivery{m[0], p.delivered})
		}
	}
	return out
}

// relet changes leases of deliveries that are the newest of their messages.
func (s *state) relet(r relet, now time.Time) {
	from := s.at(r.Shard)
	change := func(all []delivery, lease uint64) {
		for _, m := range all {
			if p, ok := ordered.Get(&from.waiting, m[0]); ok && p.delivered == m[1] {
				p.let(lease, now)
			}
		}
	}
	change(r.Keep, r.Lease)
	change(r.Return, 0)
}

// let begins a lease, or ends it with 0.
func (p *parcel) let(lease uint64, now time.Time) {
	p.lease, p.until = lease, time.Time{}
	if lease > 0 {
		p.until = now.Add(time.Duration(lease)) //nolint:gosec // of a time
	}
}

// commit makes units facts, all that are none yet, or nothing.
func (s *state) commit(units []unit) outcome {
	out := outcome{fresh: make([]bool, len(units))}
	named, sealing := make(map[unitKey]bool, len(units)), make(map[int]bool)
	for i, u := range units {
		key := u.key()
		out.fresh[i] = !named[key] && !s.known(u)
		named[key] = true
		if out.err = s.takes(u, out.fresh[i], sealing); out.err != nil {
			return out
		}
	}
	for i, u := range units {
		if out.fresh[i] {
			out.freed = append(out.freed, s.add(u)...)
		}
	}
	return out
}

// unitKey is unlike for units that are not the same.
type unitKey struct {
	name  string
	first place
}

func (u unit) key() unitKey {
	if len(u.Inputs) > 0 {
		return unitKey{first: u.Inputs[0]}
	}
	return unitKey{name: u.Name}
}

// known tells whether a unit is a fact already.
func (s *state) known(u unit) bool {
	if len(u.Inputs) == 0 {
		return s.units[u.Name]
	}
	in := u.Inputs[0]
	_, waits := ordered.Get(&s.at(int(in[0])).waiting, in[1]) //nolint:gosec // below the number of shards
	return !waits
}

// takes says why a unit cannot be made a fact, after those that seal some shards.
func (s *state) takes(u unit, fresh bool, sealing map[int]bool) error {
	for _, o := range u.Outputs {
		if o.Shard < 0 || o.Shard >= len(s.shards) {
			return fmt.Errorf("the output's shard: %w", store.ErrNotFound)
		}
		if fresh && !o.Seal && (s.shards[o.Shard].sealed || sealing[o.Shard]) {
			return fmt.Errorf("shard %d of %s: %w", s.order[o.Shard].Number, s.order[o.Shard].Edge, store.ErrSealed)
		}
		sealing[o.Shard] = sealing[o.Shard] || fresh && o.Seal
	}
	return nil
}

// add makes a unit a fact, and returns where the data of its inputs are.
func (s *state) add(u unit) (freed []string) {
	if len(u.Inputs) == 0 {
		s.units[u.Name] = true
	}
	for _, in := range u.Inputs {
		from := s.at(int(in[0])) //nolint:gosec // below the number of shards
		if p, ok := ordered.Get(&from.waiting, in[1]); ok {
			ordered.Remove(&from.waiting, in[1])
			from.pending -= uint64(p.Segments) //nolint:gosec // a count
			if s.release(p.At) {
				freed = append(freed, p.At)
			}
		}
	}
	for _, o := range u.Outputs {
		to := s.shards[o.Shard]
		if o.Seal {
			to.sealed = true
			continue
		}
		to.stored++
		to.segments += uint64(o.Segments) //nolint:gosec // a count
		to.pending += uint64(o.Segments)  //nolint:gosec // a count
		ordered.Set(&to.waiting, to.stored, &parcel{output: o})
		s.hold(o.At)
	}
	return freed
}

// hold notes that a parcel needs a bundle.
func (s *state) hold(at string) {
	if at != "" {
		s.bundles[at]++
	}
}

// release is the inverse of hold; it tells whether none needs it any more.
func (s *state) release(at string) bool {
	if at == "" {
		return false
	}
	s.bundles[at]--
	last := s.bundles[at] <= 0
	if last {
		delete(s.bundles, at)
	}
	return last
}

// pick chooses messages that nobody has.
func (s *shard) pick(limit int, now time.Time) (out []delivery) {
	ordered.Each(&s.waiting, func(number uint64, p *parcel) bool {
		if !p.picked && !p.until.After(now) {
			p.picked = true
			out = append(out, delivery{number, p.delivered})
		}
		return len(out) < limit
	})
	return out
}

// unpick lets other calls pick messages again.
func (s *shard) unpick(all []delivery) {
	for _, m := range all {
		if p, ok := ordered.Get(&s.waiting, m[0]); ok {
			p.picked = false
		}
	}
}

func (s *state) depth(i int) store.Depth {
	d := s.shards[i]
	return store.Depth{
		Shard: s.order[i], Stored: d.stored, Pending: uint64(ordered.Len(&d.waiting)),
		Sealed: d.sealed, Segments: d.segments,
		PendingSegments: d.pending, //nolint:gosec // a count
	}
}
