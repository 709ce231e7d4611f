package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/node"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Lookout reads what members write beside the value: their heartbeats, and what fails on them. It remembers when each heartbeat changed, so that a
// second look knows more than the first. Its methods may be called from any goroutine.
type Lookout struct {
	docs  store.Docs
	clock func() protocol.Instant
	mu    sync.Mutex
	signs map[string]sign // by key
}

// NewLookout makes a lookout over the documents of a cluster. The clock is that of the observer.
func NewLookout(docs store.Docs, clock func() protocol.Instant) *Lookout {
	return &Lookout{docs: docs, clock: clock, signs: make(map[string]sign)}
}

// Look looks once. Its error is that of the store.
func (l *Lookout) Look(ctx context.Context, v cluster.Value) (Sight, error) {
	beats, err := l.read(ctx, v)
	if err != nil {
		return Sight{}, fmt.Errorf("read the heartbeats: %w", err)
	}
	docs, err := l.docs.List(ctx, node.FailingPrefix)
	if err != nil {
		return Sight{}, fmt.Errorf("read what fails: %w", err)
	}
	s := Sight{now: time.Now(), beats: make(map[cluster.MemberID]Heartbeat), runs: make(map[cluster.PartitionID]failingRun)}
	l.judge(&s, v, beats)
	for _, d := range docs {
		var f node.Failing
		if json.Unmarshal(d.Value, &f) == nil && d.Key == node.FailingPrefix+f.Member {
			s.add(v, f)
		}
	}
	return s, nil
}

// read returns the heartbeats of the members by key. A list may lag, so what is missing in it is asked for.
func (l *Lookout) read(ctx context.Context, v cluster.Value) (map[string]store.Doc, error) {
	docs, err := l.docs.List(ctx, protocol.HeartbeatPrefix)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.Doc, len(docs))
	for _, d := range docs {
		out[d.Key] = d
	}
	for m := range v.Members() {
		if _, ok := out[m.Pulse]; ok || !hasHeartbeat(m) {
			continue
		}
		d, err := l.docs.Get(ctx, m.Pulse)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			out[m.Pulse] = d
		}
	}
	return out, nil
}

// hasHeartbeat tells of whom one is expected. A member that has announced a restart has none until it is back.
func hasHeartbeat(m cluster.Member) bool {
	return m.State != cluster.MemberHeld && strings.HasPrefix(m.Pulse, protocol.HeartbeatPrefix)
}

// judge fills in the heartbeats of the members, and forgets the signs of others.
func (l *Lookout) judge(s *Sight, v cluster.Value, docs map[string]store.Doc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, signs := l.clock(), make(map[string]sign)
	for m := range v.Members() {
		if !hasHeartbeat(m) {
			continue
		}
		d, ok := docs[m.Pulse]
		if !ok {
			s.beats[m.ID] = Heartbeat{State: HeartbeatGone}
			continue
		}
		signs[m.Pulse] = l.signs[m.Pulse].next(now, d.Version)
		s.beats[m.ID] = signs[m.Pulse].heartbeat(now, s.now, d.Value)
	}
	l.signs = signs
}
