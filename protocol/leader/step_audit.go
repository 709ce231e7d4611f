package leader

import (
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// audit is where the leader is in comparing what is written with what should be.
type audit struct {
	next protocol.Instant
	last cluster.MemberID // whose folder was looked at last
}

// auditSlots looks at the folder of one member after the other: somebody else may have removed or changed an assignment.
func (s *step) auditSlots() {
	if !s.p.Audit || s.At < s.rule.audit.next {
		return
	}
	if m := s.fold.Value.Following(s.rule.audit.last); m != "" && s.list(folder(m)) {
		s.audited(m, 0)
	}
}

// audited paces the audit: a store may need a request for each document, and an idle cluster must cost little: half a document a second, and less the more
// members there are. All is compared at once when another leader begins.
func (s *step) audited(m cluster.MemberID, documents int) {
	each := max(2*time.Second, time.Duration(len(s.rule.roster.Members))*200*time.Millisecond)
	s.rule.audit = audit{next: s.At.Add(max(s.Params.TTL, time.Duration(documents+1)*each)), last: m}
}

// folderAudited finds assignments of a member that are not as we have written them. A list may be old: they are read before anything is written.
func (s *step) folderAudited(prefix string, docs []Doc) {
	if s.rule.at != ruleRuling {
		return // it did when it asked
	}
	m := cluster.MemberID(strings.TrimSuffix(strings.TrimPrefix(prefix, AssignPrefix), "/"))
	s.audited(m, len(docs))
	listed := make(map[string]store.Version, len(docs))
	for _, d := range docs {
		listed[d.Key] = d.Version
		if _, ok := s.rule.docs.Get(d.Key); !ok {
			s.get(d.Key) // see slotWritten
		}
	}
	s.rule.docs.below(folder(m), func(key string, k known) bool {
		if v, ok := listed[key]; (!ok || v != k.version) && !k.unsure && !s.isBusy(key) {
			k.unsure = true // it is read, and written where it is not as it should be
			s.rule.docs.set(key, k)
			s.markDirty(k.target)
		}
		return true
	})
}
