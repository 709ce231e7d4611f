package leader

import "github.com/rota-run/rota/cluster"

// laterTerm is set by a document that names a later term than ours. Another member may lead by now, and what it has written must not be undone from an older
// value: nothing is projected before the log, read after that, shows no other leader. A document that was written by hand ends there too.
type laterTerm struct {
	seen  bool
	asked bool // the read of the log that is under way began afterwards
}

// noteTerm looks whether a document names a later term than ours.
func (s *step) noteTerm(d Doc) {
	var term uint64
	switch v := d.Value.(type) {
	case slotDoc:
		term = v.Term
	case headDoc:
		term = v.Term
	case rosterDoc:
		term = v.Term
	}
	if term > s.rule.term {
		s.rule.later = laterTerm{seen: true}
		s.fold.Hint = true
	}
}

// laterRead ends the doubt when the log was read to a head that is newer than it.
func (s *step) laterRead(head cluster.Index) {
	if s.rule.later.asked && s.fold.Value.Index() >= head {
		s.rule.later = laterTerm{}
	}
}
