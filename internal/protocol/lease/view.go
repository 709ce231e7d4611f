package lease

import (
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Phase names where the member is: name, beat, join, joined, leader, removed, leaving, gone or halted.
func (s State) Phase() string {
	if s.Is == member.PhaseMember && s.lead.holds {
		return "leader"
	}
	return [...]string{"", "name", "beat", "join", "joined", "", "removed", "leaving", "gone", "halted"}[s.Is]
}

// Value is the newest value that the member has: as the leader it has assembled it, else it is the leader's newest view.
func (s State) Value() cluster.Value { return s.value }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return protocol.Status{Joined: s.Is == member.PhaseMember, StoreError: s.Contact.Problem, TTLMS: s.Timing().Lengthened(s.StatedTTL()), Pending: len(s.queue)}
}

// Incarnation is the one in which the member is in the Node List; 0 where it is not.
func (s State) Incarnation() cluster.Incarnation { return s.Inc }

// Watched are the prefixes of the documents that the member is told of.
func (s State) Watched() []string { return s.watched }

// Assembler assembles values, one after the other.
type Assembler struct{ known *facts }

// Assemble is the value that documents make. It decodes and assembles what has changed since the last one.
func (a *Assembler) Assemble(docs []store.Doc) cluster.Value {
	if a.known == nil {
		a.known = &facts{}
	}
	f := a.known.learn(docs)
	f.assemble(a.known)
	a.known = f
	return f.value()
}

// JobOf is the job that a partition's document belongs to; false for other documents.
func JobOf(d store.Doc) (cluster.JobID, bool) {
	if !strings.HasPrefix(d.Key, partitionPrefix) {
		return "", false
	}
	return jobOf(d)
}
