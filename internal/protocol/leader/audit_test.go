package leader

import (
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestWhatIsWrittenIsRepaired: an assignment or a head that somebody has removed, changed or replaced by garbage is as it should be again, though its value
// does not change; one that nobody should have is removed. Their owners run what they ran, all the time where it was not taken from them.
func TestWhatIsWrittenIsRepaired(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *stage, key, head string){ // order-free: each on a stage of its own
		"removed":      func(s *stage, key, _ string) { s.remove(key) },
		"garbage":      func(s *stage, key, _ string) { s.set(key, "garbage") },
		"no head":      func(s *stage, _, head string) { s.remove(head) },
		"garbage head": func(s *stage, _, head string) { s.set(head, "garbage") },
		"stopped": func(s *stage, _, head string) {
			h := s.docs[head].Value.(headDoc)
			h.Index, h.Tasks = h.Index+100, nil
			s.set(head, h)
		},
		"another token": func(s *stage, key, _ string) {
			d := s.docs[key].Value.(slotDoc)
			d.Token++
			s.set(key, d)
		},
		"of nobody": func(s *stage, key, _ string) {
			d := s.docs[key].Value.(slotDoc)
			d.Task, d.Partition.ID = "stray", "stray"
			s.set(slotKey(d.Member, d.Task), d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "a")
			s.until("a leads", s.joined("a"))
			s.start("b", "n0")
			s.until("b has joined", s.joined("b"))
			s.ask("b", single("x"), single("y"))
			s.until("each runs one", func() bool { return len(s.members["a"].last.Grants) == 1 && len(s.members["b"].last.Grants) == 1 })
			for _, id := range []cluster.MemberID{"a", "b"} {
				task := s.members[id].last.Grants[0].Partition
				key, head, index, stops := slotKey(id, task), headKey(id), s.value().Index(), 0
				want := s.docs[key].Value.(slotDoc).stamp()
				told := s.docs[head].Value.(headDoc)
				spoil(s, key, head)
				s.until(string(id)+" has its assignment again, and no other", func() bool {
					if !s.members[id].runs(task) {
						stops++
					}
					d, _ := s.docs[key].Value.(slotDoc)
					h, ok := s.docs[head].Value.(headDoc)
					return d.stamp() == want && len(s.below(folder(id))) == 1 && s.members[id].runs(task) &&
						ok && len(h.Tasks) == 1 && h.Tasks[0].Token == told.Tasks[0].Token && h.Tasks[0].State == slotActive
				})
				if stops > 0 && name != "stopped" {
					t.Errorf("%s did not run it for a while", id)
				}
				if got := s.value().Index(); got != index {
					t.Errorf("%s: %d entries were needed", id, got-index)
				}
			}
		})
	}
}
