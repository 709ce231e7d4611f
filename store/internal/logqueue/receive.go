package logqueue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
)

// tries is how often a call takes messages that others take at the same moment.
const tries = 3

// Receive implements store.Queue.
func (s *Store) Receive(ctx context.Context, name string, r store.Receive) ([]store.Message, error) {
	all, err := s.receive(ctx, name, r)
	if err != nil {
		return nil, fmt.Errorf("receive from shard %d of %s in flow %q: %w", r.Shard.Number, r.Shard.Edge, name,
			s.gone(name, err))
	}
	return all, nil
}

func (s *Store) receive(ctx context.Context, name string, r store.Receive) ([]store.Message, error) {
	if err := store.CheckReceive(r); err != nil {
		return nil, err
	}
	f, err := s.open(ctx, name, false)
	if err != nil {
		return nil, err
	}
	if r.Peek || f.unread() {
		if err := f.refresh(ctx); err != nil {
			return nil, err
		}
	}
	at, err := f.find(r.Shard)
	if err != nil {
		return nil, err
	}
	if r.Peek {
		return f.peek(ctx, at, r)
	}
	if len(r.Keep)+len(r.Return) > 0 {
		op := operation{ID: s.id(), Kind: opRelet,
			Relet: relet{at, uint64(r.Lease), deliveries(r.Keep), deliveries(r.Return)}} //nolint:gosec // not negative
		if _, err := f.decide(ctx, op, nil); err != nil {
			return nil, err
		}
	}
	if r.Limit == 0 {
		return nil, nil
	}
	for fresh, try := false, 0; try < tries; try++ {
		all, none, err := s.take(ctx, f, at, r)
		if err != nil || none && fresh || len(all) > 0 {
			return all, err
		}
		if fresh = none; none { // as far as this handle has read
			if err := f.refresh(ctx); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// deliveries are messages as they were delivered to the caller.
func deliveries(all []store.Message) []delivery {
	out := make([]delivery, 0, len(all))
	for i := range all {
		if n, err := strconv.ParseUint(all[i].Receipt, 10, 64); err == nil {
			out = append(out, delivery{all[i].Number, n})
		}
	}
	return out
}

// take takes messages; none: there are none.
func (s *Store) take(ctx context.Context, f *flow, at int,
	r store.Receive) (all []store.Message, none bool, err error) {
	f.mu.Lock()
	if f.state.dropped {
		defer f.mu.Unlock()
		return nil, true, fmt.Errorf("the flow: %w", store.ErrNotFound)
	}
	from := f.state.at(at)
	picked := from.pick(r.Limit, time.Now())
	f.mu.Unlock()
	if len(picked) == 0 {
		return nil, true, nil
	}
	out, err := f.decide(ctx, operation{ID: s.id(), Kind: opTake, Take: take{at, uint64(r.Lease), picked}}, nil) //nolint:gosec // above zero
	f.mu.Lock()
	from.unpick(picked)
	messages, outputs := from.messages(r.Shard, out.won)
	f.mu.Unlock()
	if err != nil || out.err != nil {
		return nil, false, first(err, out.err)
	}
	if messages, err = f.load(ctx, messages, outputs); err != nil {
		back := operation{ID: s.id(), Kind: opRelet, Relet: relet{Shard: at, Return: out.won}}
		_, _ = f.decide(ctx, back, nil) // else they come back when their lease ends
		return nil, false, err
	}
	return messages, false, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// messages are deliveries without their data, and where those are. What was acknowledged meanwhile is left out.
func (s *shard) messages(name store.Shard, all []delivery) (out []store.Message, data []output) {
	for _, d := range all {
		p, ok := ordered.Get(&s.waiting, d[0])
		if !ok {
			continue
		}
		out = append(out, store.Message{
			Shard: name, Number: d[0], Segments: p.Segments, Delivered: int(d[1]),
			Receipt: strconv.FormatUint(d[1], 10), //nolint:gosec // a count
		})
		data = append(data, p.output)
	}
	return out, data
}

// load reads the data of messages. Those whose data are gone were acknowledged meanwhile: they are left out.
func (f *flow) load(ctx context.Context, messages []store.Message, outputs []output) (out []store.Message, err error) {
	bundles, err := f.get(ctx, outputs)
	if err != nil {
		return nil, err
	}
	for i, o := range outputs {
		m, data := messages[i], o.Data
		if o.At != "" {
			data = bundles[o.At]
			if len(data) < o.From+o.Size {
				continue
			}
			data = data[o.From : o.From+o.Size]
		}
		m.Data = append(make([]byte, 0, len(data)), data...)
		out = append(out, m)
	}
	return out, nil
}

// peek looks at what waits.
func (f *flow) peek(ctx context.Context, at int, r store.Receive) ([]store.Message, error) {
	var messages []store.Message
	var outputs []output
	f.mu.Lock()
	ordered.From(&f.state.at(at).waiting, r.After+1, func(number uint64, p *parcel) bool {
		if len(messages) < r.Limit {
			messages = append(messages, store.Message{Shard: r.Shard, Number: number, Segments: p.Segments})
			outputs = append(outputs, p.output)
		}
		return len(messages) < r.Limit
	})
	f.mu.Unlock()
	return f.load(ctx, messages, outputs)
}

// few is how many bytes of an output go into the record.
const few = 512

// Commit implements store.Queue. All units of a call are one record.
func (s *Store) Commit(ctx context.Context, name string, units ...store.Unit) ([]bool, error) {
	fresh, err := s.commit(ctx, name, units)
	if err != nil {
		return nil, fmt.Errorf("commit to flow %q: %w", name, s.gone(name, err))
	}
	return fresh, nil
}

func (s *Store) commit(ctx context.Context, name string, units []store.Unit) ([]bool, error) {
	for i := range units {
		if err := store.CheckUnit(units[i]); err != nil {
			return nil, err
		}
	}
	f, err := s.open(ctx, name, false)
	if err != nil {
		return nil, err
	}
	if f.unread() {
		if err := f.refresh(ctx); err != nil {
			return nil, err
		}
	}
	op := operation{ID: s.id(), Kind: opCommit, Commit: make([]unit, len(units))}
	b := bundler{most: min(bundleBytes, f.journal.MaxRecord())}
	for i := range units {
		for k := range units[i].Outputs {
			b.left += len(units[i].Outputs[k].Data)
		}
	}
	for i := range units {
		if op.Commit[i], err = f.unit(&units[i], &b); err != nil {
			return nil, err
		}
	}
	out, err := f.decide(ctx, op, b.all)
	f.free(ctx, out.freed)
	return out.fresh, first(err, out.err)
}

// unread tells whether this handle does not know the shards yet.
func (f *flow) unread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.state.made
}

// unit is a unit with shards by their place. Data that are not few go into bundles.
func (f *flow) unit(u *store.Unit, b *bundler) (out unit, err error) {
	out.Name = u.Name
	for i := range u.Inputs {
		at, err := f.find(u.Inputs[i].Shard)
		if err != nil {
			return out, err
		}
		out.Inputs = append(out.Inputs, place{uint64(at), u.Inputs[i].Number}) //nolint:gosec // below the number of shards
	}
	for _, p := range u.Outputs {
		at, err := f.find(p.Shard)
		if err != nil {
			return out, err
		}
		o := output{Shard: at, Seal: p.Seal}
		switch {
		case p.Seal:
		case len(p.Data) > few:
			o.Segments = p.Segments
			b.add(&o, p.Data)
		default:
			o.Segments, o.Data = p.Segments, p.Data
		}
		out.Outputs = append(out.Outputs, o)
	}
	return out, nil
}
