package work

// typeState bounds the runs of one type at once; those that wait are served first come, first served.
type typeState struct {
	max, running int
	queue        []place
}

// place is a part's place in a queue; it is void once the part has left or has another.
type place struct {
	p   *part
	seq uint64
}

func (t *typeState) full() bool { return t.max > 0 && t.running >= t.max }

func (s *State) enqueue(p *part) {
	t := s.types[p.grant.Spec.Type]
	p.phase = phaseQueued
	p.queued++
	t.queue = append(t.queue, place{p, p.queued})
}

// pump starts the longest waiting while there is room.
func (s *State) pump(t *typeState) {
	for t != nil && s.valid && !s.shutdown && !t.full() && len(t.queue) > 0 {
		n := t.queue[0]
		t.queue[0] = place{}
		t.queue = t.queue[1:]
		if n.p.phase == phaseQueued && n.p.queued == n.seq {
			s.start(n.p)
			s.note(n.p)
		}
	}
}
