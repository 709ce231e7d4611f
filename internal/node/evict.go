package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// evictPrefix is where documents tell members to leave. Each names an incarnation, so it is for who was a member by
// then: a start that comes later removes it.
const evictPrefix = "evict/"

// evictWord is such a document.
type evictWord struct {
	By          string              `json:"by,omitempty"`
	AtMS        int64               `json:"at_ms"`
	Incarnation cluster.Incarnation `json:"incarnation"`
}

// evictTimeout is how long a look for such a document may take.
const evictTimeout = time.Second

// KeepEvicted writes that this start of a member has to leave, and who says so. The member looks when it is drained.
func KeepEvicted(ctx context.Context, docs store.Docs, m cluster.Member, by string) error {
	key := evictPrefix + string(m.ID)
	body, err := json.Marshal(evictWord{by, time.Now().UnixMilli(), m.Incarnation})
	if err != nil {
		return fmt.Errorf("evict %s: %w", m.ID, err)
	}
	for {
		d, err := docs.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read whether %s is evicted: %w", m.ID, err)
		}
		_, err = docs.Put(ctx, store.Doc{Key: key, Value: body, Version: d.Version})
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return fmt.Errorf("keep that %s is evicted: %w", m.ID, err)
		}
	}
}

// obeyEvict looks whether this member was evicted, each time that it joins, and at each news while it is drained, until
// ctx ends.
func (n *Node) obeyEvict(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.suspect:
		}
		for n.readEvicted() != nil {
			if !wait.For(ctx, claimPause) {
				return
			}
		}
	}
}

// readEvicted ends the node if it was evicted. It removes what was for a former start.
func (n *Node) readEvicted() error {
	ctx, cancel := context.WithTimeout(context.Background(), evictTimeout)
	defer cancel()
	var w evictWord
	d, err := n.c.Store.Get(ctx, evictPrefix+string(n.c.Member))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		n.c.Logger.Debug("read whether this member was evicted; it is tried again", "member", n.c.Member, "err", err)
		return err
	}
	switch err := json.Unmarshal(d.Value, &w); {
	case err != nil:
		n.c.Logger.Warn("the document that evicts this member cannot be read; evict it again", "key", d.Key, "err", err)
	case n.first.Load() == 0: // it knows when it has joined
	case uint64(w.Incarnation) >= n.first.Load():
		n.evict(&protocol.EvictedError{Member: n.c.Member, By: w.By})
	default:
		_ = n.c.Store.Delete(ctx, d.Key, d.Version) // or the next start does
	}
	return nil
}
