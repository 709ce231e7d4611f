package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
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
	s := Sight{v: v, now: time.Now(), beats: make(map[cluster.MemberID]Heartbeat), runs: make(map[cluster.PartitionID]failingRun)}
	l.judge(&s, v, beats)
	for _, d := range docs {
		var f node.Failing
		if json.Unmarshal(d.Value, &f) == nil && d.Key == node.FailingPrefix+f.Member {
			s.add(f)
		}
	}
	return s, nil
}

// read returns the heartbeats of the members by key. A list may lag, so what is missing in it is asked for.
func (l *Lookout) read(ctx context.Context, v cluster.Value) (map[string]store.Doc, error) {
	out := make(map[string]store.Doc)
	for _, prefix := range prefixes(v) {
		docs, err := l.docs.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			out[d.Key] = d
		}
	}
	for m := range v.Members() {
		if _, ok := out[m.Heartbeat]; ok || !hasHeartbeat(m) {
			continue
		}
		d, err := l.docs.Get(ctx, m.Heartbeat)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			out[m.Heartbeat] = d
		}
	}
	return out, nil
}

// hasHeartbeat tells of whom one is expected. A member that has announced a restart has none until it is back.
func hasHeartbeat(m cluster.Member) bool {
	return m.State != cluster.MemberHeld && prefixOf(m) != ""
}

// prefixOf is where the protocol keeps the heartbeat of a member; "" where there is none.
func prefixOf(m cluster.Member) string {
	for _, p := range [...]string{protocol.HeartbeatPrefix, protocol.NodePrefix} {
		if strings.HasPrefix(m.Heartbeat, p) {
			return p
		}
	}
	return ""
}

// prefixes are those of the members: one, since all of them use one protocol.
func prefixes(v cluster.Value) (out []string) {
	for m := range v.Members() {
		if p := prefixOf(m); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
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
		d, ok := docs[m.Heartbeat]
		if !ok || fenced(d) {
			s.beats[m.ID] = Heartbeat{State: HeartbeatGone}
			continue
		}
		signs[m.Heartbeat] = l.signs[m.Heartbeat].next(now, d.Version)
		s.beats[m.ID] = signs[m.Heartbeat].heartbeat(now, s.now, d.Value)
	}
	l.signs = signs
}

// fenced tells whether a heartbeat was ended by others: it is there, and is never renewed again.
func fenced(d store.Doc) bool {
	var said struct {
		State string `json:"state"`
	}
	return json.Unmarshal(d.Value, &said) == nil && said.State == "fenced"
}
