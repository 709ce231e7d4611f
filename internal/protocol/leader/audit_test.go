package leader

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/cluster"
)

// TestWhatIsWrittenIsRepaired: an assignment or a head that somebody has removed, changed or replaced by garbage is as
// it should be again, though its value does not change; one that nobody should have is removed. Their owners run what
// they ran, all the time where it was not taken from them.
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
			s.until("each runs one",
				func() bool { return len(s.members["a"].last.Grants) == 1 && len(s.members["b"].last.Grants) == 1 })
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
						ok && len(h.Tasks) == 1 && h.Tasks[0].Token == told.Tasks[0].Token &&
						h.Tasks[0].State == slotActive
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

// A light member knows all members and its own tasks; a fifth one that leads nobody reads no log. Who has left is gone
// from the roster at an index that proves it.
func TestALightMember(t *testing.T) {
	t.Parallel()
	s := newStage(t, "a")
	s.until("a leads", s.joined("a"))
	ids := []cluster.MemberID{"a", "b", "c", "d", "e"}
	for _, id := range ids[1:] {
		s.start(id, "n0")
		s.until(string(id)+" has joined", s.joined(id))
	}
	var commands []cluster.Command
	for i := range 10 {
		commands = append(commands, single(cluster.JobID(fmt.Sprintf("t%d", i))))
	}
	s.ask("e", commands...)
	e := s.members["e"]
	s.until("each runs two", func() bool {
		for _, id := range ids {
			if len(s.members[id].last.Grants) != 2 {
				return false
			}
		}
		return true
	})
	s.pass(5 * ttl)
	for i, id := range ids {
		if whole := i <= e.p.StandBys; s.members[id].Whole() != whole {
			t.Fatalf("%s folds the log: %t", id, !whole)
		}
	}
	v, members, own := e.Value(), 0, 0
	for range v.Members() {
		members++
	}
	for range v.Partitions() {
		own++
	}
	if members != 5 || own != 2 {
		t.Fatalf("it has %d members and %d tasks\n%s", members, own, v)
	}
	inc := s.members["d"].Inc
	s.kill("d")
	s.until("e knows that d is gone", func() bool {
		_, in := e.Value().Member("d")
		return !in
	})
	if e.Value().Index() < inc {
		t.Fatalf("at index %d it proves nothing about incarnation %d", e.Value().Index(), inc)
	}
}

// A stand-by whose restart is announced is none any more, though the roster has it: the next member follows the log in
// its place.
func TestAStandByThatIsHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t, "a")
	s.until("a leads", s.joined("a"))
	for _, id := range []cluster.MemberID{"b", "c", "d"} {
		s.start(id, "n0")
		s.until(string(id)+" has joined", s.joined(id))
	}
	b, d := s.members["b"], s.members["d"]
	if d.Whole() {
		t.Fatal("d folds the log before anybody leaves")
	}
	s.ask("b", cluster.LeaveCluster{Member: "b", Incarnation: b.Inc, Hold: true})
	s.until("b is held", func() bool { m, _ := s.value().Member("b"); return m.State == cluster.MemberHeld })
	b.over = true // its process has ended
	s.until("d folds the log", func() bool { return d.Whole() })
	if m, _ := s.value().Member("b"); m.State != cluster.MemberHeld {
		t.Fatal("b is gone: the story is another one")
	}
}
