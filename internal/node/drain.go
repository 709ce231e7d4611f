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

// drain moves the member's partitions away, as far as others can take them, within the timeout.
func (n *Node) drain(gone, hurry <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), n.c.DrainTimeout)
	defer cancel()
	if len(n.takers()) == 0 {
		return
	}
	if _, err := n.member.Propose(ctx, cluster.DrainMember{Member: n.c.Member, On: true}); err != nil {
		n.c.Logger.Warn("drain", "err", err)
		return
	}
	for {
		changed := n.changed.Next()
		if n.drained() {
			return
		}
		select {
		case <-changed:
		case <-gone:
			return
		case <-hurry:
			return
		case <-ctx.Done():
			n.c.Logger.Warn("drain: leaving with partitions that nobody took", "timeout", n.c.DrainTimeout)
			return
		}
	}
}

// drained tells whether nothing is left here that another member could take. What only this member may run must not
// keep it.
func (n *Node) drained() bool {
	v, takers := n.member.Value(), n.takers()
	for p := range v.OwnedBy(n.c.Member) {
		if p.Owner == n.c.Member && (p.State != cluster.PartitionGranted || movable(v, p.ID, takers)) {
			return false
		}
	}
	return true
}

// takers are the other members that take new partitions.
func (n *Node) takers() []cluster.Member {
	v := n.member.Value()
	var out []cluster.Member
	for m := range v.Members() {
		if m.ID == n.c.Member || m.State != cluster.MemberJoined || m.Draining {
			continue
		}
		if m.Capacity == 0 || owned(v, m.ID) < m.Capacity {
			out = append(out, m)
		}
	}
	return out
}

func owned(v cluster.Value, m cluster.MemberID) int64 {
	var count int64
	for p := range v.OwnedBy(m) {
		if p.Slot == 0 && !p.ID.Reserved() { // neither slots nor Rota's own tasks count against the capacity
			count++
		}
	}
	return count
}

func movable(v cluster.Value, id cluster.PartitionID, takers []cluster.Member) bool {
	jobID, name, _ := id.Split()
	job, _ := v.Job(jobID)
	task, ok := job.Task(name)
	if !ok || task.Spread == cluster.SpreadEvery {
		return false
	}
	for _, m := range takers {
		if task.Allows(m) {
			return true
		}
	}
	return false
}

// drainPrefix is where documents say which members people have drained. The value forgets a member that leaves; these
// are kept, so that one that restarts during its maintenance takes no tasks.
const drainPrefix = "drain/"

// drainWord is such a document.
type drainWord struct {
	By   string `json:"by,omitempty"`
	AtMS int64  `json:"at_ms"`
}

// KeepDrained writes that a member was drained, and by whom; off: that it is not any more. It tells whether that was
// said before.
func KeepDrained(ctx context.Context, docs store.Docs, member cluster.MemberID, on bool,
	by string) (was bool, err error) {
	key := drainPrefix + string(member)
	for {
		d, err := docs.Get(ctx, key)
		was := err == nil
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return false, fmt.Errorf("read whether %s is drained: %w", member, err)
		case was == on:
			return was, nil
		case on:
			var body []byte
			if body, err = json.Marshal(drainWord{by, time.Now().UnixMilli()}); err == nil {
				_, err = docs.Put(ctx, store.Doc{Key: key, Value: body})
			}
		default:
			err = docs.Delete(ctx, key, d.Version)
		}
		if err == nil {
			return was, nil
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) || ctx.Err() != nil {
			return was, fmt.Errorf("keep that %s is drained: %w", member, err)
		}
	}
}

// obeyDrain drains this member each time that it joins while a document says that it is drained, until ctx ends.
func (n *Node) obeyDrain(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.rejoined:
		}
		for {
			_, err := n.c.Store.Get(ctx, drainPrefix+string(n.c.Member))
			if err == nil {
				_, err = n.member.Propose(ctx, cluster.DrainMember{Member: n.c.Member, On: true})
			}
			if err == nil || errors.Is(err, store.ErrNotFound) {
				break
			}
			n.c.Logger.Debug("drain this member again, as its document says; it is tried again", "member", n.c.Member,
				"err", err)
			if !wait.For(ctx, claimPause) {
				return
			}
		}
	}
}

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
