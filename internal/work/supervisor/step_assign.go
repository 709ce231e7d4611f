package supervisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// assign applies an assignment: a merge of two sorted lists, the parts and the grants.
func (s *State) assign(a protocol.Assignment) {
	if s.assigned && a.Version == s.version {
		return
	}
	s.assigned, s.version, s.dirty = true, a.Version, true
	s.sweep()
	old, merged := s.order, make([]*part, 0, len(a.Grants))
	var like *part // the previous part: partitions of one task are adjacent and share a decoded definition
	for _, g := range a.Grants {
		for len(old) > 0 && old[0].id < g.Partition {
			merged, old = append(merged, old[0]), old[1:]
			s.grantTo(merged[len(merged)-1], nil, nil)
		}
		var p *part
		if len(old) > 0 && old[0].id == g.Partition {
			p, old = old[0], old[1:]
		} else {
			p = &part{id: g.Partition}
		}
		merged = append(merged, p)
		s.grantTo(p, g, like)
		like = p
	}
	for _, p := range old {
		merged = append(merged, p)
		s.grantTo(p, nil, nil)
	}
	s.order = merged
}

// grantTo gives one part its new grant, nil for none.
func (s *State) grantTo(p *part, g *protocol.Grant, like *part) {
	before := p.grant
	p.grant = g
	if g == nil {
		s.reconcile(p)
		return
	}
	if before == nil || !sameWork(before.Spec, g.Spec) {
		s.define(p, like)
	}
	switch {
	case before == nil: // a new one, or one that is stopping
	case before.Token == g.Token && before.Attempt == g.Attempt && sameWork(before.Spec, g.Spec):
		return // nothing that matters to a run has changed
	case p.phase == phaseBackoff || p.phase == phaseQueued || p.phase == phaseIdle:
		p.phase, p.waited, p.timer = phaseIdle, p.waited && before.Token == g.Token && before.Attempt == g.Attempt, 0
	}
	s.reconcile(p)
}

// define decodes the definition of the grant and checks what Step can check.
func (s *State) define(p *part, like *part) {
	spec := p.grant.Spec
	p.row = 0
	if like != nil && like.grant != nil && like.grant.Spec == spec {
		p.def, p.bad = like.def, like.bad
		return
	}
	p.def, p.bad = nil, ""
	d, err := decodeDefinition(spec)
	switch {
	case s.types[spec.Type] == nil:
		p.bad = fmt.Sprintf("the task type %q is not known on member %s: run a binary that has it there, or keep the task away with a selector", spec.Type, s.conf.Member)
	case err != nil:
		p.bad = err.Error()
	default:
		p.def = d
	}
}

func decodeDefinition(spec *cluster.TaskSpec) (*work.Definition, error) {
	d := &work.Definition{}
	if len(spec.Definition) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(spec.Definition, d); err != nil {
		return nil, fmt.Errorf("decode the definition: %w", err)
	}
	switch d.OnStoreLoss {
	case "", work.StoreLossStop, work.StoreLossKeep:
		return d, nil
	}
	return nil, fmt.Errorf("on_store_loss: %q is neither %q nor %q", d.OnStoreLoss, work.StoreLossStop,
		work.StoreLossKeep)
}

// KeepsOnStoreLoss reports whether partitions of a task go on when their member cannot reach the store.
func KeepsOnStoreLoss(t *cluster.TaskSpec) bool {
	if !bytes.Contains(t.Definition, []byte(`"on_store_loss"`)) {
		return false
	}
	d, err := decodeDefinition(t)
	return err == nil && d.OnStoreLoss == work.StoreLossKeep
}

// sameWork reports whether a run under spec a is also right under b.
func sameWork(a, b *cluster.TaskSpec) bool {
	return a == b || a != nil && b != nil && a.Type == b.Type && bytes.Equal(a.Definition, b.Definition)
}

// An Event is what Step reacts to. The set is closed. Each carries the instant at which it is handled.
type Event interface {
	event()
	now() protocol.Instant
}

type (
	// Assigned brings the newest assignment and the end of its lease.
	Assigned struct {
		Now        protocol.Instant
		Assignment protocol.Assignment
	}
	// Lease changes only the end of the lease of the present assignment.
	Lease struct{ Now, Until protocol.Instant }
	// Tick reports that time has passed.
	Tick struct{ Now protocol.Instant }
	// Exited reports that the run that Start began has ended. There is exactly one for each Start.
	Exited struct {
		Now       protocol.Instant
		Partition cluster.PartitionID
		Token     cluster.Token
		Outcome   Outcome
		Message   string // failed: why
		RanFor    time.Duration
	}
	// Shutdown stops everything for good.
	Shutdown struct{ Now protocol.Instant }
)

func (Assigned) event() {}

func (Lease) event() {}

func (Tick) event() {}

func (Exited) event() {}

func (Shutdown) event() {}

func (e Assigned) now() protocol.Instant { return e.Now }

func (e Lease) now() protocol.Instant { return e.Now }

func (e Tick) now() protocol.Instant { return e.Now }

func (e Exited) now() protocol.Instant { return e.Now }

func (e Shutdown) now() protocol.Instant { return e.Now }

// Outcome is how a run ended.
type Outcome uint8

// The outcomes. A run whose ctx ended before it returned is stopped, whatever it returned.
const (
	Finished Outcome = iota
	Failed
	Stopped
)

// StopCause is why a run is stopped.
type StopCause uint8

// The causes. If a partition is no longer assigned, the shell finds out whether it was moved, killed or drained.
const (
	StopUnassigned StopCause = iota
	StopToken                // granted to this member again under another token
	StopChanged              // type or definition changed
	StopLease
	StopShutdown
)

// String names the cause.
func (c StopCause) String() string {
	return [...]string{"unassigned", "token", "changed", "lease", "shutdown"}[c]
}

// An Effect is an action that Step requests, in order. The set is closed.
type Effect interface{ effect() }

type (
	// Start begins a run. The partition has no other run on this member.
	Start struct {
		Grant      *protocol.Grant  // shared, read-only
		Definition *work.Definition // shared, read-only
		First      bool             // no run under this token was started before: the partition is new here
	}
	// Stop ends the ctx of the partition's run, once.
	Stop struct {
		Partition cluster.PartitionID
		Token     cluster.Token
		Cause     StopCause
	}
	// Abandon reports, during shutdown, that the supervisor no longer waits for a run.
	Abandon struct {
		Partition cluster.PartitionID
		Token     cluster.Token
	}
	// Report replaces what the protocol knows of this member's runs; at most one per step, the complete present state,
	// sorted by partition. Version is that of the newest applied assignment.
	Report struct {
		Version uint64
		Reports []protocol.Report
	}
	// Journal writes a record; the shell adds time and member.
	Journal struct{ Record journal.Record }
	// WakeAt requests a Tick at an instant; it replaces the previous request. Zero: no Tick is needed.
	WakeAt struct{ At protocol.Instant }
	// Ended is the last effect: after Shutdown the supervisor waits for no further run.
	Ended struct{}
)

func (Start) effect() {}

func (Stop) effect() {}

func (Abandon) effect() {}

func (Report) effect() {}

func (Journal) effect() {}

func (WakeAt) effect() {}

func (Ended) effect() {}
