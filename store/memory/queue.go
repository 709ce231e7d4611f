package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

var _ store.Queue = (*Store)(nil)

// flow is the shards of one name, and what was committed without inputs.
type flow struct {
	order  []store.Shard
	shards map[store.Shard]*shard
	units  map[string]bool
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
	data      []byte
	segments  int
	delivered int
	until     time.Time // of the lease; zero: nobody has it
}

// MakeFlow implements store.Queue.
func (h *Store) MakeFlow(ctx context.Context, name string, shards []store.Shard) (err error) {
	defer driver.Wrap(&err, "make flow %q", name)
	if err := store.CheckFlow(name, shards); err != nil {
		return err
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.server.mu.Unlock()
	if f, ok := h.server.flows[name]; ok {
		if !slices.Equal(f.order, shards) {
			return fmt.Errorf("it has other shards: %w", store.ErrConflict)
		}
		return nil
	}
	f := &flow{order: slices.Clone(shards), shards: make(map[store.Shard]*shard), units: make(map[string]bool)}
	for _, s := range shards {
		f.shards[s] = &shard{}
	}
	h.server.flows[name] = f
	return nil
}

// DropFlow implements store.Queue.
func (h *Store) DropFlow(ctx context.Context, name string) error {
	if err := h.enter(ctx); err != nil {
		return fmt.Errorf("drop flow %q: %w", name, err)
	}
	defer h.server.mu.Unlock()
	delete(h.server.flows, name)
	return nil
}

// Receive implements store.Queue.
func (h *Store) Receive(ctx context.Context, name string, r store.Receive) (_ []store.Message, err error) {
	defer driver.Wrap(&err, "receive from shard %d of %s in flow %q", r.Shard.Number, r.Shard.Edge, name)
	if err := store.CheckReceive(r); err != nil {
		return nil, err
	}
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.server.mu.Unlock()
	s, err := h.server.shard(name, r.Shard)
	if err != nil {
		return nil, err
	}
	if r.Peek {
		return s.peek(r), nil
	}
	now := time.Now()
	s.relet(r.Keep, now.Add(r.Lease))
	s.relet(r.Return, time.Time{})
	return s.deliver(r, now), nil
}

func (s *Server) shard(flow string, name store.Shard) (*shard, error) {
	f, ok := s.flows[flow]
	if !ok {
		return nil, fmt.Errorf("the flow: %w", store.ErrNotFound)
	}
	found, ok := f.shards[name]
	if !ok {
		return nil, fmt.Errorf("the shard: %w", store.ErrNotFound)
	}
	return found, nil
}

// relet changes the leases of messages whose newest delivery is the caller's.
func (s *shard) relet(messages []store.Message, until time.Time) {
	for i := range messages {
		p, ok := s.waiting.Get(messages[i].Number)
		if ok && messages[i].Receipt == p.receipt() {
			p.until = until
		}
	}
}

func (p *parcel) receipt() string { return strconv.Itoa(p.delivered) }

func (s *shard) peek(r store.Receive) (out []store.Message) {
	s.waiting.From(r.After+1, func(number uint64, p *parcel) bool {
		if len(out) < r.Limit {
			out = append(out, store.Message{Shard: r.Shard, Number: number, Segments: p.segments, Data: clone(p.data)})
		}
		return len(out) < r.Limit
	})
	return out
}

func (s *shard) deliver(r store.Receive, now time.Time) (out []store.Message) {
	if r.Limit == 0 {
		return nil
	}
	s.waiting.Each(func(number uint64, p *parcel) bool {
		if p.until.After(now) {
			return true
		}
		p.delivered++
		p.until = now.Add(r.Lease)
		out = append(out, store.Message{
			Shard: r.Shard, Number: number, Segments: p.segments, Data: clone(p.data), Delivered: p.delivered, Receipt: p.receipt(),
		})
		return len(out) < r.Limit
	})
	return out
}

// Commit implements store.Queue. All units of a call are one step.
func (h *Store) Commit(ctx context.Context, name string, units ...store.Unit) (_ []bool, err error) {
	defer driver.Wrap(&err, "commit to flow %q", name)
	for _, u := range units {
		if err := checkUnit(u); err != nil {
			return nil, err
		}
	}
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.server.mu.Unlock()
	f, ok := h.server.flows[name]
	if !ok {
		return nil, store.ErrNotFound
	}
	fresh := make([]bool, len(units))
	named, sealing := make(map[string]bool, len(units)), make(map[store.Shard]bool)
	for i, u := range units {
		key := nameOf(u)
		fresh[i] = !named[key] && !f.known(u)
		named[key] = true
		if err := f.takes(u, fresh[i], sealing); err != nil {
			return nil, err
		}
	}
	for i, u := range units {
		if fresh[i] {
			f.apply(u)
		}
	}
	return fresh, nil
}

func checkUnit(u store.Unit) error {
	if err := store.CheckUnit(u); err != nil {
		return err
	}
	for i := range u.Outputs {
		if err := driver.CheckSize(u.Outputs[i].Data, MaxRecord); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is unlike for units that are not the same.
func nameOf(u store.Unit) string {
	if u.Name != "" {
		return u.Name
	}
	in := u.Inputs[0]
	return fmt.Sprintf("%s %d %d", in.Shard.Edge, in.Shard.Number, in.Number)
}

// known reports whether the unit is a fact already.
func (f *flow) known(u store.Unit) bool {
	if u.Name != "" {
		return f.units[u.Name]
	}
	s, ok := f.shards[u.Inputs[0].Shard]
	if !ok {
		return false
	}
	_, waits := s.waiting.Get(u.Inputs[0].Number)
	return !waits
}

// takes says why a unit cannot be made a fact, after those that seal some shards.
func (f *flow) takes(u store.Unit, fresh bool, sealing map[store.Shard]bool) error {
	for _, in := range u.Inputs {
		if f.shards[in.Shard] == nil {
			return fmt.Errorf("the input's shard %d of %s: %w", in.Shard.Number, in.Shard.Edge, store.ErrNotFound)
		}
	}
	for _, out := range u.Outputs {
		switch s := f.shards[out.Shard]; {
		case s == nil:
			return fmt.Errorf("the output's shard %d of %s: %w", out.Shard.Number, out.Shard.Edge, store.ErrNotFound)
		case fresh && (s.sealed || sealing[out.Shard]) && !out.Seal:
			return fmt.Errorf("shard %d of %s: %w", out.Shard.Number, out.Shard.Edge, store.ErrSealed)
		}
		sealing[out.Shard] = sealing[out.Shard] || fresh && out.Seal
	}
	return nil
}

func (f *flow) apply(u store.Unit) {
	if u.Name != "" {
		f.units[u.Name] = true
	}
	for _, in := range u.Inputs {
		s := f.shards[in.Shard]
		if p, ok := s.waiting.Get(in.Number); ok {
			s.waiting.Remove(in.Number)
			s.pending -= uint64(p.segments)
		}
	}
	for _, out := range u.Outputs {
		s := f.shards[out.Shard]
		if out.Seal {
			s.sealed = true
			continue
		}
		s.stored++
		s.segments += uint64(out.Segments)
		s.pending += uint64(out.Segments)
		s.waiting.Set(s.stored, &parcel{data: clone(out.Data), segments: out.Segments})
	}
}

// Depth implements store.Queue. It is never stale.
func (h *Store) Depth(ctx context.Context, name string, shards ...store.Shard) (_ []store.Depth, err error) {
	defer driver.Wrap(&err, "depth of flow %q", name)
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.server.mu.Unlock()
	f, ok := h.server.flows[name]
	if !ok {
		return nil, store.ErrNotFound
	}
	if len(shards) == 0 {
		shards = f.order
	}
	out := make([]store.Depth, 0, len(shards))
	for _, name := range shards {
		s, ok := f.shards[name]
		if !ok {
			return nil, fmt.Errorf("shard %d of %s: %w", name.Number, name.Edge, store.ErrNotFound)
		}
		out = append(out, store.Depth{
			Shard: name, Stored: s.stored, Pending: uint64(s.waiting.Len()), Sealed: s.sealed, Segments: s.segments, PendingSegments: s.pending,
		})
	}
	return out, nil
}
