package flow

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/proof/check"
)

// model is two stages, A and B, with two shards and some workers each, and a queue. Messages wait in A's ingress, which
// is sealed. What decides is the real thing: Step. The queue is a model: it keeps what it was told, once, delivers what
// is not acknowledged, and its answers may be lost.
//
// A worker's call and its answer are one move, unless a fault comes between: the call fails, its answer is lost, or it
// happens late, or a second time. Leases end early; workers die and are replaced; the server starts again; the end of
// one run ends all runs of its task, as in the cluster.
type model struct {
	messages int // in A's ingress
	workers  int // of each stage
	faults   faults
}

// faults are how many of each there may be.
type faults struct {
	crash int8 // workers die
	lapse int8 // leases end while their holder works on
	lost  int8 // calls are done and their answers lost
	fail  int8 // calls are not done
	late  int8 // calls are done later
	twice int8 // calls are done, answered, and done again later
	lag   int8 // looks show an earlier state, deliveries miss what is there
	boot  int8 // the server starts again: it keeps what it has stored, and forgets who holds what
}

func (f faults) list() []int8 {
	return []int8{f.crash, f.lapse, f.lost, f.fail, f.late, f.twice, f.lag, f.boot}
}

const (
	stages     = 2
	most       = 2 // workers of a stage
	shardsEach = 2
	outShard   = stages * shardsEach
)

// message is one message: which of A's ingress it comes from.
type message struct {
	id     int8
	acked  bool
	holder int8 // a worker, or free
}

const free = int8(-1)

type queue struct {
	messages []message
	sealed   bool
}

// unit names what a worker is working on: a message of a shard.
type unit struct{ shard, number int8 }

type worker struct {
	state    State
	now      Effect
	alive    bool
	holds    bool
	unit     unit
	outputs  []message
	finished bool // it was told that the task is finished
}

// request is a call that happens late.
type request struct {
	worker  int
	now     Effect
	unit    unit
	outputs []message
}

type system struct {
	shards   [outShard + 1]queue
	complete [stages]bool
	closed   bool
	ended    [stages]bool // a run has ended: the task is finished
	workers  [stages * most]worker
	late     []request
	left     faults
	broken   string
}

// The promises.
const (
	promiseSeal     = "nothing comes after a seal"
	promiseOnce     = "every segment is at the output once"
	promiseKept     = "no segment is lost"
	promiseEnd      = "a run ends when its task is complete"
	promiseSink     = "the sink is sealed after all segments, and before the task is complete"
	promiseComplete = "a task is complete when all that comes after it is sealed"
)

func stageOf(w int) int { return w / most }

func (m model) Start() []system {
	s := system{left: m.faults}
	for i := range m.messages {
		q := &s.shards[i%shardsEach]
		q.messages = append(q.messages, message{id: int8(i), holder: free})
	}
	s.shards[0].sealed, s.shards[1].sealed = true, true
	for w := range s.workers {
		if w%most < m.workers {
			s.start(w)
		}
	}
	return []system{s}
}

func (s *system) start(w int) {
	p := Params{In: shardsEach, Out: shardsEach}
	if stageOf(w) == 1 {
		p.Out, p.Sink = 1, true
	}
	s.workers[w] = worker{alive: true}
	s.workers[w].state, s.workers[w].now = NewState(p)
}

// ingress and egress are the shards of a stage.
func ingress(stage, i int) int8 { return int8(stage*shardsEach + i) }

func egress(stage, i int) int8 {
	if stage == 1 {
		return outShard
	}
	return int8((stage+1)*shardsEach + i)
}

func (s system) clone() system {
	for i := range s.shards {
		s.shards[i].messages = slices.Clone(s.shards[i].messages)
	}
	s.late = slices.Clone(s.late)
	return s
}

type moves struct {
	m    model
	from system
	out  []check.Move[system]
}

func (l *moves) add(name string, do func(*system)) {
	n := l.from.clone()
	do(&n)
	n.judge(l.m)
	l.out = append(l.out, check.Move[system]{Name: name, To: n})
}

// Next lists the moves.
func (m model) Next(s system) []check.Move[system] {
	l := &moves{m: m, from: s}
	for w := range s.workers {
		if w%most < m.workers {
			m.worker(l, w)
		}
	}
	for i, r := range s.late {
		l.add(fmt.Sprintf("what %s sent late is done", name(r.worker)), func(n *system) {
			n.late = slices.Delete(n.late, i, i+1)
			m.perform(n, r)
		})
	}
	m.leases(l)
	if s.left.boot > 0 {
		l.add("the server starts again", func(n *system) {
			n.left.boot--
			for i := range n.shards {
				for k := range n.shards[i].messages {
					n.shards[i].messages[k].holder = free
				}
			}
		})
	}
	return l.out
}

func name(w int) string { return fmt.Sprintf("%c%d", 'A'+stageOf(w), w%most+1) }

// worker lists what can happen to one worker.
func (m model) worker(l *moves, w int) {
	s := &l.from
	who := &s.workers[w]
	switch {
	case !who.alive && who.finished:
		return
	case !who.alive:
		if s.ended[stageOf(w)] {
			return
		}
		l.add(name(w)+" is replaced", func(n *system) { n.start(w) })
		return
	case s.ended[stageOf(w)]:
		l.add(name(w)+" is told that the task is finished",
			func(n *system) { n.workers[w].alive, n.workers[w].finished = false, true })
	}
	if s.left.crash > 0 {
		l.add(name(w)+" dies", func(n *system) {
			n.left.crash--
			n.workers[w] = worker{}
		})
	}
	m.calls(l, w)
}

// calls lists how the next call of a worker may go.
func (m model) calls(l *moves, w int) {
	s := &l.from
	what := s.workers[w].call()
	l.add(name(w)+": "+what, func(n *system) { m.hear(n, w, m.perform(n, n.request(w))) })
	if d := s.workers[w].now.Do; d == Pause || d == End {
		return
	}
	if s.left.fail > 0 {
		l.add(name(w)+": "+what+" fails", func(n *system) {
			n.left.fail--
			m.hear(n, w, nil)
		})
	}
	if s.left.lag > 0 {
		m.lags(l, w)
	}
	if s.workers[w].now.Do == Look {
		return
	}
	if s.left.lost > 0 {
		l.add(name(w)+": "+what+", the answer is lost", func(n *system) {
			n.left.lost--
			m.perform(n, n.request(w))
			m.hear(n, w, nil)
		})
	}
	if s.left.late > 0 && s.workers[w].now.Do != Receive {
		l.add(name(w)+": "+what+" is under way for long", func(n *system) {
			n.left.late--
			n.late = append(n.late, n.request(w))
			m.hear(n, w, nil)
		})
	}
	if s.left.twice > 0 && s.workers[w].now.Do != Receive {
		l.add(name(w)+": "+what+" is on its way twice", func(n *system) {
			n.left.twice--
			n.late = append(n.late, n.request(w))
			m.hear(n, w, m.perform(n, n.request(w)))
		})
	}
}

// lags lists what a worker may get to see that is not so any more.
func (m model) lags(l *moves, w int) {
	var old reply
	switch l.from.workers[w].now.Do {
	case Look:
		old = Looked{Drained: make([]bool, shardsEach)}
	case Receive:
		old = Received{}
	default:
		return
	}
	l.add(name(w)+": sees what was", func(n *system) {
		n.left.lag--
		m.hear(n, w, old)
	})
}

func (w *worker) call() string {
	return fmt.Sprintf("%s %d", [...]string{"look", "receive", "work", "pause", "seal", "close", "complete",
		"end"}[w.now.Do], w.now.Shard)
}

// leases lists whose leases may end.
func (m model) leases(l *moves) {
	for i := range l.from.shards {
		for k, msg := range l.from.shards[i].messages {
			if msg.holder == free || msg.acked {
				continue
			}
			h := &l.from.workers[msg.holder]
			works := h.alive && h.holds && h.unit == unit{int8(i), int8(k)}
			if works && l.from.left.lapse == 0 {
				continue
			}
			l.add(fmt.Sprintf("the lease of %v ends", unit{int8(i), int8(k)}), func(n *system) {
				if works {
					n.left.lapse--
				}
				n.shards[i].messages[k].holder = free
			})
		}
	}
}

// Good: both tasks are complete, and all runs have ended.
func (m model) Good(s system) bool {
	for w := range s.workers {
		if s.workers[w].alive {
			return false
		}
	}
	return s.complete[0] && s.complete[1] && len(s.late) == 0
}

// Broken names the promise that was broken.
func (m model) Broken(s system) string { return s.broken }

func (s *system) breaks(promise string) {
	if s.broken == "" {
		s.broken = promise
	}
}
