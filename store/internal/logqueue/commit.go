package logqueue

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
)

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
