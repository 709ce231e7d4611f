package work

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
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
	case before == nil:
		if p.phase == phaseIdle || p.phase == phaseStopping {
			p.waited = false
		}
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

func decodeDefinition(spec *cluster.TaskSpec) (*Definition, error) {
	d := &Definition{}
	if len(spec.Definition) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(spec.Definition, d); err != nil {
		return nil, fmt.Errorf("decode the definition: %w", err)
	}
	switch d.OnStoreLoss {
	case "", StoreLossStop, StoreLossKeep:
		return d, nil
	}
	return nil, fmt.Errorf("on_store_loss: %q is neither %q nor %q", d.OnStoreLoss, StoreLossStop, StoreLossKeep)
}

// sameWork reports whether a run under spec a is also right under b.
func sameWork(a, b *cluster.TaskSpec) bool {
	return a == b || a != nil && b != nil && a.Type == b.Type && bytes.Equal(a.Definition, b.Definition)
}
