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

// Lookout reads what members write beside the value: their heartbeats, and what fails on them. It remembers when each
// heartbeat changed, so that a second look knows more than the first. Its methods may be called from any goroutine.
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
	s := Sight{v: v, now: time.Now(), beats: make(map[cluster.MemberID]Heartbeat),
		runs: make(map[cluster.PartitionID]failingRun)}
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

// Heartbeat is the sign of life of a member, as an observer of the store knows it.
type Heartbeat struct {
	State    string `json:"state"`               // renewed, present, late, silent, gone
	AtMS     int64  `json:"at_ms,omitempty"`     // of the last one, by the member's own clock: for people
	SilentMS int64  `json:"silent_ms,omitempty"` // not renewed for so long, by the clock of the observer
	TTLMS    int64  `json:"ttl_ms,omitempty"`    // after so long without one, others take over
	// UsualTTLMS is the member's usual TTL, where it states a longer one because its renewals are slow; else 0.
	UsualTTLMS int64 `json:"usual_ttl_ms,omitempty"`
	// Guardian says whether another process would end the member's session at its death, so that others take over at
	// once: "on", "not needed" where the kernel does it, or why not. "" where the member does not say.
	Guardian string `json:"guardian,omitempty"`
}

// The states of a heartbeat.
const (
	HeartbeatRenewed = "renewed" // it was seen to be written again: the member lives
	HeartbeatPresent = "present" // it is there; one look cannot say more
	HeartbeatLate    = "late"    // as present, and by the member's own clock it is older than the TTL: look again
	HeartbeatSilent  = "silent"  // not renewed for the TTL, by the clock of the observer
	HeartbeatGone    = "gone"    // the store has none: the process is dead or has lost its session
)

// Lost tells whether the member is probably dead.
func (h Heartbeat) Lost() bool {
	return h.State == HeartbeatGone || h.State == HeartbeatSilent || h.State == HeartbeatLate
}

// Text says what is known. A heartbeat that is known only by the member's own clock is said to be so.
func (h Heartbeat) Text(now time.Time) string {
	switch h.State {
	case HeartbeatGone:
		return "no heartbeat in the store: the process is dead or cut off"
	case HeartbeatSilent:
		return fmt.Sprintf("not renewed for %s: probably dead", seconds(time.Duration(h.SilentMS)*time.Millisecond))
	}
	text := fmt.Sprintf("last heartbeat about %s ago by its own clock", seconds(h.Age(now)))
	if h.State == HeartbeatLate {
		text += ": probably dead"
	}
	return text
}

// problem is the state under which a member that is probably dead is listed.
func (h Heartbeat) problem() string {
	if h.State == HeartbeatGone {
		return h.State
	}
	return HeartbeatSilent
}

// Unguarded tells whether the member has asked for a guardian and has none.
func (h Heartbeat) Unguarded() bool {
	return h.Guardian != "" && h.Guardian != "on" && h.Guardian != "not needed"
}

// Slower tells whether the member renews its heartbeat less often than usual.
func (h Heartbeat) Slower() bool { return h.UsualTTLMS > 0 }

// Age is how old the heartbeat is by the member's own clock and now by the clock of the observer; never negative. For
// people: clocks differ.
func (h Heartbeat) Age(now time.Time) time.Duration {
	return max(now.Sub(time.UnixMilli(h.AtMS)), 0)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int64(d/time.Second)) }

// sign is what a lookout remembers of a heartbeat.
type sign struct {
	version store.Version
	since   protocol.Instant // when this version was first seen
	renewed bool             // another version was seen before
}

// next is the sign after another look.
func (s sign) next(now protocol.Instant, v store.Version) sign {
	switch s.version {
	case v:
		return s
	case "":
		return sign{version: v, since: now}
	}
	return sign{version: v, since: now, renewed: true}
}

// heartbeat judges a document: only its owner's clock where it was looked at once, else the clock of the observer.
func (s sign) heartbeat(now protocol.Instant, wall time.Time, doc []byte) Heartbeat {
	var said struct {
		AtMS     int64  `json:"at_ms"`
		TTLMS    int64  `json:"ttl_ms"`
		UsualMS  int64  `json:"usual_ttl_ms"`
		Guardian string `json:"guardian"`
	}
	_ = json.Unmarshal(doc, &said) // what cannot be read says nothing of its time; that it is there counts
	h := Heartbeat{
		State: HeartbeatPresent, AtMS: said.AtMS, TTLMS: said.TTLMS, UsualTTLMS: said.UsualMS,
		SilentMS: now.Sub(s.since).Milliseconds(), Guardian: said.Guardian,
	}
	switch {
	case h.TTLMS > 0 && h.SilentMS > h.TTLMS:
		h.State = HeartbeatSilent
	case s.renewed:
		h.State = HeartbeatRenewed
	case h.TTLMS > 0 && h.AtMS > 0 && h.Age(wall).Milliseconds() > h.TTLMS:
		h.State = HeartbeatLate
	}
	return h
}
