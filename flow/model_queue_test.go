package flow

import "slices"

// request is the next call of a worker.
func (s *system) request(w int) request {
	who := &s.workers[w]
	return request{w, who.now, who.write, who.output, who.unit, who.outputs}
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
		return s.deliver(r.worker, ingress(stage, r.now.Shard), m.halves)
	case Work:
		if m.split {
			return s.doWrite(r)
		}
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

func (s *system) deliver(w int, shard int8, halves bool) reply {
	q := &s.shards[shard]
	for k := range q.messages {
		if m := &q.messages[k]; !m.acked && m.holder == free {
			m.holder = int8(w)
			if halves && stageOf(w) == 0 {
				m.runs++
			}
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

// doWrite is one write of a commit in several.
func (s *system) doWrite(r request) reply {
	switch r.write {
	case Record:
		if s.recordOf(r.unit) != nil {
			return Exists
		}
		s.records = append(s.records, record{r.unit, slices.Clone(r.outputs)})
	case ReadRecord:
		return s.recordOf(r.unit).outputs
	case Output:
		return s.putOnce(r)
	case Acknowledge:
		in := &s.shards[r.unit.shard].messages[r.unit.number]
		in.acked, in.holder = true, free
	}
	return Stored
}

func (s *system) recordOf(u unit) *record {
	i := slices.IndexFunc(s.records, func(r record) bool { return r.unit == u })
	if i < 0 {
		return nil
	}
	return &s.records[i]
}

// putOnce stores an output under a name that its unit and its place give it.
func (s *system) putOnce(r request) reply {
	key := unit{r.unit.shard*8 + int8(r.output), r.unit.number}
	if slices.Contains(s.stored, key) {
		return Exists
	}
	s.stored = append(s.stored, key)
	s.put(r, r.outputs[r.output])
	return Stored
}

// put stores a message and judges it.
func (s *system) put(r request, out message) {
	stage := stageOf(r.worker)
	shard := egress(stage, int(out.id)%shardsEach)
	if out.half >= 0 {
		shard = egress(stage, int(out.half))
	}
	q := &s.shards[shard]
	if q.sealed {
		s.breaks(promiseSeal)
	}
	for _, m := range s.shards[outShard].messages {
		if stage == 1 && m.id == out.id && m.half == out.half {
			s.breaks(promiseOnce)
		}
		if stage == 1 && m.id == out.id && m.half != out.half && m.maker != out.maker {
			s.breaks(promiseHalves)
		}
	}
	q.messages = append(q.messages, message{id: out.id, half: out.half, maker: out.maker, holder: free})
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
		who.outputs = m.function(s, w, r)
		e = Received{Some: true}
	case Received, Looked, Done:
		if who.now.Do == Work {
			who.forget()
		}
		e = r.(Event)
	case Answer, []message:
		if m.goOn(who, r) {
			return
		}
		who.forget()
		e = Done{}
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
	if who.now.Do == Work && m.split {
		who.writing = true
		who.commit, who.write = NewCommit(len(who.outputs), !m.halves || stageOf(w) == 1)
		who.output = 0
	}
}

// goOn goes to the next write of a commit; false at its end.
func (m model) goOn(who *worker, r reply) bool {
	a, recorded := Stored, 0
	if outputs, ok := r.([]message); ok {
		who.outputs, recorded = outputs, len(outputs)
	} else {
		a = r.(Answer)
	}
	who.commit, who.write, who.output = who.commit.Step(a, recorded)
	return who.write != Committed
}

func (w *worker) forget() {
	w.holds, w.writing, w.unit, w.outputs, w.commit, w.write, w.output = false, false, unit{}, nil, Commit{}, 0, 0
}

// function is what a worker makes of a message. A's function may make something else each time.
func (m model) function(s *system, w int, u unit) []message {
	in := s.shards[u.shard].messages[u.number]
	if stageOf(w) == 1 {
		return []message{{id: in.id, half: in.half, maker: in.maker}}
	}
	if !m.halves {
		return []message{{id: in.id, half: -1, maker: free}}
	}
	return []message{{id: in.id, half: 0, maker: in.runs}, {id: in.id, half: 1, maker: in.runs}}
}

// judge looks at what must hold in every state.
func (s *system) judge(m model) {
	all := len(s.shards[outShard].messages) >= m.wanted()
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

// wanted is how many messages are at the output in the end.
func (m model) wanted() int {
	if m.halves {
		return 2 * m.messages
	}
	return m.messages
}
