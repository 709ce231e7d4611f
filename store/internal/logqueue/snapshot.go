package logqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
)

// snapshotEvery is after how many records the author of one saves a snapshot and trims what was before the last one.
const snapshotEvery = 1000

// errPassed is the outcome of an operation whose place in the log was trimmed before its author has read it.
var errPassed = fmt.Errorf("%w: it was appended, and trimmed before it was read", store.ErrUnknown)

// save saves a snapshot if that is this handle's turn, and trims. What fails is done by the next turn.
func (f *flow) save(ctx context.Context) {
	k, ok := f.journal.(Keeper)
	f.mu.Lock()
	due := f.due
	f.due = false
	r := store.Record{Index: f.read}
	if ok && due {
		x := newWriter()
		f.state.code(x)
		r.Data = x.data
	}
	f.mu.Unlock()
	if ok && due && k.SaveSnapshot(ctx, r) == nil && r.Index > snapshotEvery {
		_ = k.Trim(ctx, r.Index-snapshotEvery) // others have read that far, or read the snapshot
	}
}

// forgetAll leaves a snapshot of a flow that was dropped, and nothing else.
func (f *flow) forgetAll(ctx context.Context) {
	f.mu.Lock()
	f.due = true
	read := f.read
	f.mu.Unlock()
	f.save(ctx)
	if k, ok := f.journal.(Keeper); ok {
		_ = k.Trim(ctx, read)
	}
}

// restore goes on at the snapshot. Leases begin anew there: that is not before their holders have counted.
func (f *flow) restore(ctx context.Context) error {
	k, ok := f.journal.(Keeper)
	if !ok {
		return errors.New("the log of the flow was trimmed")
	}
	r, err := k.Snapshot(ctx)
	if err != nil {
		return err
	}
	var s state
	x := newReader(r.Data)
	s.code(x)
	if err := x.end(); err != nil {
		return fmt.Errorf("the snapshot of the flow at %d: %w", r.Index, err)
	}
	now := time.Now()
	s.bundles = make(map[string]int)
	for _, sh := range s.shards {
		ordered.Each(&sh.waiting, func(_ uint64, p *parcel) bool {
			p.let(p.lease, now)
			s.hold(p.At)
			return true
		})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Index <= f.read {
		return nil // a newer one comes
	}
	f.state, f.read = s, r.Index
	return nil
}

func (s *state) code(x *coder) {
	x.bool(&s.made)
	x.bool(&s.dropped)
	list(x, &s.order, x.shard)
	list(x, &s.shards, func(sh **shard) {
		if x.reading {
			*sh = &shard{}
		}
		(*sh).code(x)
	})
	names := slices.Sorted(maps.Keys(s.units))
	list(x, &names, x.text)
	if x.reading {
		s.units = make(map[string]bool, len(names))
		for _, n := range names {
			s.units[n] = true
		}
	}
}

func (s *shard) code(x *coder) {
	x.uint(&s.stored)
	x.uint(&s.segments)
	x.uint(&s.pending)
	x.bool(&s.sealed)
	type numbered struct {
		number uint64
		of     *parcel
	}
	var all []numbered
	ordered.Each(&s.waiting, func(n uint64, p *parcel) bool {
		all = append(all, numbered{n, p})
		return true
	})
	list(x, &all, func(n *numbered) {
		if x.reading {
			n.of = &parcel{}
		}
		x.uint(&n.number)
		x.output(&n.of.output)
		x.uint(&n.of.delivered)
		x.uint(&n.of.lease)
		if x.reading {
			ordered.Set(&s.waiting, n.number, n.of)
		}
	})
}

// shelf keeps the bundles that were used last. The zero value is empty.
type shelf struct {
	mu    sync.Mutex
	have  map[string][]byte
	order []string // the oldest first
	size  int
}

// get returns a bundle, which is not to be changed; nil if it is not there.
func (s *shelf) get(at string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have[at]
}

func (s *shelf) keep(at string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[at] != nil || len(data) > shelfBytes/4 {
		return
	}
	if s.have == nil {
		s.have = make(map[string][]byte)
	}
	s.have[at], s.order = data, append(s.order, at)
	for s.size += len(data); s.size > shelfBytes; {
		s.remove(s.order[0])
	}
}

func (s *shelf) forget(at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[at] != nil {
		s.remove(at)
	}
}

func (s *shelf) remove(at string) {
	s.size -= len(s.have[at])
	delete(s.have, at)
	if i := slices.Index(s.order, at); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
}
