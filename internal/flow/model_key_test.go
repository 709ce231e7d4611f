package flow

import (
	"slices"
)

// Key names a state. Workers of a stage are alike: of the names that they may have, the first counts.
func (m model) Key(s system) string {
	best := ""
	for _, a := range permutations(m.workers) {
		for _, b := range permutations(m.workers) {
			to := [stages * most]int8{0, 1, 2, 3}
			for i := range m.workers {
				to[i], to[most+i] = int8(a[i]), int8(most+b[i])
			}
			if k := s.text(to); best == "" || k < best {
				best = k
			}
		}
	}
	return best
}

func permutations(n int) [][]int {
	if n == 1 {
		return [][]int{{0}}
	}
	return [][]int{{0, 1}, {1, 0}}
}

// text writes a state, with other names for its workers.
func (s *system) text(to [stages * most]int8) string {
	t := &text{to: to, b: make([]byte, 0, 512)}
	for i := range s.shards {
		t.flags(s.shards[i].sealed)
		t.messages(s.shards[i].messages)
	}
	t.flags(s.complete[0], s.complete[1], s.closed, s.ended[0], s.ended[1])
	t.small(s.left.list()...)
	t.b = append(append(t.b, s.broken...), '|')
	back := [stages * most]int{}
	for w, named := range to {
		back[named] = w
	}
	for _, w := range back {
		t.worker(&s.workers[w])
	}
	var late []string
	for i := range s.late {
		r := &text{to: to}
		r.request(&s.late[i])
		late = append(late, string(r.b))
	}
	slices.Sort(late)
	for _, l := range late {
		t.b = append(append(t.b, l...), '|')
	}
	return string(t.b)
}

// text is a state as it is written; each part has a fixed length, or ends with a bar.
type text struct {
	to [stages * most]int8
	b  []byte
}

func (t *text) small(all ...int8) {
	for _, n := range all {
		t.b = append(t.b, byte(n))
	}
}

func (t *text) flags(all ...bool) {
	for _, f := range all {
		if f {
			t.b = append(t.b, 1)
		} else {
			t.b = append(t.b, 0)
		}
	}
}

func (t *text) name(w int8) {
	if w != free {
		w = t.to[w]
	}
	t.small(w)
}

func (t *text) unit(u unit) { t.small(u.shard, u.number) }

func (t *text) messages(all []message) {
	for _, m := range all {
		t.small(m.id)
		t.flags(m.acked)
		t.name(m.holder)
	}
	t.b = append(t.b, '|')
}

func (t *text) worker(w *worker) {
	t.flags(w.alive, w.finished, w.holds, w.state.idle, w.state.blind)
	t.flags(w.state.drained...)
	t.small(int8(w.now.Do), int8(w.now.Shard), int8(w.state.empty), int8(w.state.worked), int8(w.state.First))
	t.unit(w.unit)
	t.messages(w.outputs)
}

func (t *text) request(r *request) {
	t.small(int8(stageOf(r.worker)), int8(r.now.Do), int8(r.now.Shard))
	t.unit(r.unit)
	t.messages(r.outputs)
}
