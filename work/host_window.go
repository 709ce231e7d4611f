package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

var _ Windows = (*run)(nil)

// Window implements Windows.
func (r *run) Window(g *Grant) (w Window, changed <-chan struct{}, err error) {
	if r.s.conf.Value == nil || r.s.conf.Changed == nil {
		return Window{}, nil, errors.New("this member does not show the value")
	}
	changed = r.s.conf.Changed()
	v := r.s.conf.Value()
	p, ok := v.Partition(g.Partition)
	if !ok || p.Token != g.Token {
		return Window{}, changed, nil
	}
	w = Window{Mine: true, Step: p.Step, Cursor: p.Cursor, value: v, lists: g.Partition}
	for it := range v.Window(g.Partition) {
		if it.State == cluster.PartitionFinished {
			w.Done = append(w.Done, it)
		} else {
			w.Outstanding++
		}
	}
	return w, changed, nil
}

// Advance implements Windows. Positions of finished items are deleted before the items: the other way round, a crash would leave them.
func (r *run) Advance(ctx context.Context, g *Grant, w Window, c cluster.AdvanceWindow) (refused string, err error) {
	name := describe(g.Partition, g.Token)
	if r.s.conf.Propose == nil {
		return "", fmt.Errorf("advance %s: this member has no way to propose", name)
	}
	for _, p := range w.Done[:len(c.Done)] {
		if err := r.forgetPosition(ctx, p); err != nil {
			return "", fmt.Errorf("forget the position of %s: %w", p.ID, err)
		}
	}
	results, err := r.s.conf.Propose(ctx, c)
	switch {
	case err != nil:
		return "", fmt.Errorf("advance %s: %w", name, err)
	case len(results) != 1:
		return "", fmt.Errorf("advance %s: the protocol gave no result", name)
	}
	return results[0].Reason, nil
}

// forgetPosition deletes what an item has saved, unless another owner has saved since: a key may be listed again.
func (r *run) forgetPosition(ctx context.Context, p cluster.Partition) error {
	if r.s.conf.Positions == nil {
		return nil
	}
	doc, saved, err := r.storedPosition(ctx, p.ID)
	if err != nil || doc.Version == "" || saved.Token > p.Token {
		return err
	}
	err = r.s.conf.Positions.Delete(ctx, doc.Key, doc.Version)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
