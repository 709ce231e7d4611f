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
