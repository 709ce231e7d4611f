package flow

import "slices"

// request is the next call of a worker.
func (s *system) request(w int) request {
	who := &s.workers[w]
	return request{w, who.now, who.unit, who.outputs}
}

// reply is what the queue says to a call; nil: nothing was heard.
type reply any

// perform does a call.
func (m model) perform(s *system, r request) reply {
	stage := stageOf(r.worker)
	switch r.now.Do {
	case Look:
		return s.look(stage)
	case Receive:
		return s.deliver(r.worker, ingress(stage, r.now.Shard))
	case Work:
		s.doUnit(r)
	case Seal:
		s.shards[egress(stage, r.now.Shard)].sealed = true
	case Close:
		s.closed = true
	case Complete:
		s.complete[stage] = true
	}
	return Done{}
}

func (s *system) look(stage int) Looked {
	l := Looked{Complete: s.complete[stage]}
	for i := range shardsEach {
		q := &s.shards[ingress(stage, i)]
		waits := slices.ContainsFunc(q.messages, func(m message) bool { return !m.acked })
		l.Drained = append(l.Drained, q.sealed && !waits)
	}
	return l
}

func (s *system) deliver(w int, shard int8) reply {
	q := &s.shards[shard]
	for k := range q.messages {
		if m := &q.messages[k]; !m.acked && m.holder == free {
			m.holder = int8(w)
			return unit{shard, int8(k)}
		}
	}
	return Received{}
}

// doUnit is a commit as one transaction.
func (s *system) doUnit(r request) {
	in := &s.shards[r.unit.shard].messages[r.unit.number]
	if in.acked {
		return
	}
	in.acked, in.holder = true, free
	for _, out := range r.outputs {
		s.put(r, out)
	}
}

// put stores a message and judges it.
func (s *system) put(r request, out message) {
	stage := stageOf(r.worker)
	shard := egress(stage, int(out.id)%shardsEach)
	q := &s.shards[shard]
	if q.sealed {
		s.breaks(promiseSeal)
	}
	for _, m := range s.shards[outShard].messages {
		if stage == 1 && m.id == out.id {
			s.breaks(promiseOnce)
		}
	}
	q.messages = append(q.messages, message{id: out.id, holder: free})
}

// hear gives a worker the answer to its call.
func (m model) hear(s *system, w int, r reply) {
	who := &s.workers[w]
	var e Event
	switch r := r.(type) {
	case nil:
		who.forget()
		e = Failed{}
	case unit:
		who.holds, who.unit = true, r
		who.outputs = s.function(r)
		e = Received{Some: true}
	case Received, Looked, Done:
		if who.now.Do == Work {
			who.forget()
		}
		e = r.(Event)
	}
	if who.now.Do == End {
		if !s.complete[stageOf(w)] {
			s.breaks(promiseEnd)
		}
		s.ended[stageOf(w)] = true
		who.alive, who.finished = false, true
		return
	}
	who.state, who.now = Step(who.state, e)
}

func (w *worker) forget() {
	w.holds, w.unit, w.outputs = false, unit{}, nil
}

// function is what a worker makes of a message.
func (s *system) function(u unit) []message {
	return []message{{id: s.shards[u.shard].messages[u.number].id}}
}

// judge looks at what must hold in every state.
func (s *system) judge(m model) {
	all := len(s.shards[outShard].messages) >= m.messages
	if s.shards[outShard].sealed && !all {
		s.breaks(promiseKept)
	}
	if s.closed && !all || s.complete[1] && !s.closed {
		s.breaks(promiseSink)
	}
	if s.complete[0] && (!s.shards[2].sealed || !s.shards[3].sealed) || s.complete[1] && !s.shards[outShard].sealed {
		s.breaks(promiseComplete)
	}
}

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
