package leader

import (
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestWhatIsWrittenIsRepaired: an assignment that somebody has removed, changed or replaced by garbage is as it should be again, though its value does not
// change; one that nobody should have is removed. Their owners run what they ran.
func TestWhatIsWrittenIsRepaired(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *stage, key string){ // order-free: each on a stage of its own
		"removed": func(s *stage, key string) { s.remove(key) },
		"garbage": func(s *stage, key string) { s.set(key, "garbage") },
		"another token": func(s *stage, key string) {
			d := s.docs[key].Value.(slotDoc)
			d.Token++
			s.set(key, d)
		},
		"of nobody": func(s *stage, key string) {
			d := s.docs[key].Value.(slotDoc)
			d.Task = "stray"
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
				key, index := slotKey(id, task), s.value().Index()
				want, _ := s.docs[key].Value.(slotDoc)
				spoil(s, key)
				s.until(string(id)+" has its assignment again, and no other", func() bool {
					d, _ := s.docs[key].Value.(slotDoc)
					return d.stamp() == want.stamp() && len(s.below(folder(id))) == 1 && s.members[id].runs(task)
				})
				if got := s.value().Index(); got != index {
					t.Errorf("%s: %d entries were needed", id, got-index)
				}
			}
		})
	}
}
