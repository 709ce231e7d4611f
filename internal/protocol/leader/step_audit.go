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

// auditSlots looks at the head and the folder of one member after the other: somebody else may have removed or changed something.
func (s *step) auditSlots() {
	if !s.p.Audit || s.At < s.rule.audit.next {
		return
	}
	if m := s.fold.Value.Following(s.rule.audit.last); m != "" && s.list(folder(m)) {
		s.get(headKey(m))
		s.audited(m, 0)
	}
}

// audited paces the audit: a store may need a request for each document, and an idle cluster must cost little: half a document a second, and less the more
// members there are. All is compared at once when another leader begins.
func (s *step) audited(m cluster.MemberID, documents int) {
	each := max(2*time.Second, time.Duration(len(s.roster.Members))*200*time.Millisecond)
	s.rule.audit = audit{next: s.At.Add(max(s.Params.TTL, time.Duration(2*(documents+1))*each)), last: m}
}

// folderAudited finds assignments of a member that are not as we have written them. A list may be old: they are read before anything is written.
func (s *step) folderAudited(prefix string, docs []Doc) {
	if s.rule.at != ruleRuling {
		return // it did when it asked
	}
	m := cluster.MemberID(strings.TrimSuffix(strings.TrimPrefix(prefix, AssignPrefix), "/"))
	s.audited(m, len(docs))
	check := func(key string, v store.Version) {
		switch k, _ := s.rule.docs.Get(key); {
		case k.version == v || k.unsure || s.isBusy(key):
		case k.task == "":
			s.get(key) // see written
		default:
			s.doubt(k.target)
		}
	}
	listed := make(map[string]bool, len(docs))
	for _, d := range docs {
		listed[d.Key] = true
		check(d.Key, d.Version)
	}
	s.rule.docs.below(folder(m), func(key string, _ kept) bool {
		if !listed[key] {
			check(key, "")
		}
		return true
	})
}
