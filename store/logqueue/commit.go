package logqueue

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
)

// few is how many bytes of an output go into the record.
const few = 512

// later is the place of data that have none yet.
const later = "?"

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
	f, err := s.enter(ctx, name, true)
	if err != nil {
		return nil, err
	}
	if f.unread() {
		if err := f.refresh(ctx); err != nil {
			return nil, err
		}
	}
	op := operation{ID: s.id(), Kind: opCommit, Commit: make([]unit, len(units))}
	var data [][]byte
	for i := range units {
		if op.Commit[i], err = f.unit(&units[i], &data); err != nil {
			return nil, err
		}
	}
	if err := f.store(ctx, op.Commit, data); err != nil {
		return nil, err
	}
	out, err := f.decide(ctx, op)
	f.free(ctx, out.freed)
	return out.fresh, first(err, out.err)
}

// unread tells whether this handle does not know the shards yet.
func (f *flow) unread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.state.made
}

// unit is a unit with shards by their place. Data that are not few are added to data.
func (f *flow) unit(u *store.Unit, data *[][]byte) (out unit, err error) {
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
			o.Segments, o.At = p.Segments, later
			*data = append(*data, p.Data)
		default:
			o.Segments, o.Data = p.Segments, p.Data
		}
		out.Outputs = append(out.Outputs, o)
	}
	return out, nil
}

// store stores the data of outputs, and notes where they are.
func (f *flow) store(ctx context.Context, units []unit, data [][]byte) error {
	if len(data) == 0 {
		return nil
	}
	at, err := f.journal.Put(ctx, data...)
	if err != nil {
		return err
	}
	for i := range units {
		for k := range units[i].Outputs {
			if o := &units[i].Outputs[k]; o.At == later {
				o.At, at = at[0], at[1:]
			}
		}
	}
	return nil
}
