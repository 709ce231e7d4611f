package flow

import "slices"

// Params say what a worker is for.
type Params struct {
	In    int // shards of the ingress
	Out   int // shards of the egress
	Sink  bool
	First int // the shard to begin with, so that workers do not crowd at one
	// LookAfter is how many deliveries are worked on before the worker looks how far the shards are; 0: it looks only
	// when it has nothing to do.
	LookAfter int
}

// Do is what a worker does next.
type Do uint8

// What there is to do. Each but End is answered by an event.
const (
	Look     Do = iota // ask whether the task is complete, and which shards are drained: Looked
	Receive            // from the shard of the ingress: Received
	Work               // apply the function to what was received, and commit: Done
	Pause              // for a moment, nothing is there: Done
	Seal               // the shard of the egress: Done
	Close              // seal the sink, of a task that has one: Done
	Complete           // store that the task is complete: Done
	End                // the run is over
)

// Effect is what to do, and where.
type Effect struct {
	Do    Do
	Shard int
}

// Event is the answer to the last effect.
type Event interface{ event() }

// The events. Failed answers every effect that was not done, or whose outcome is unknown.
type (
	// Looked is what a look has shown. What it says to be complete or drained is; it may say so late.
	Looked struct {
		Complete bool
		Drained  []bool // by shard of the ingress
		Held     bool   // an edge of the egress is full
	}
	// Received tells whether there was anything.
	Received struct{ Some bool }
	// Done says that it was done.
	Done struct{}
	// Failed says that it was not done, or that nobody knows.
	Failed struct{}
)

func (Looked) event()   {}
func (Received) event() {}
func (Done) event()     {}
func (Failed) event()   {}

// State is one worker: one run of a task on one slot. Make it with NewState.
type State struct {
	Params
	now     Effect
	drained []bool
	empty   int  // shards in a row that had nothing
	worked  int  // since the last look
	idle    bool // no shard had anything since the last look
	blind   bool // it must look before it goes on
}

// Phase is a state of a worker as people see it.
type Phase string

// The phases.
const (
	Active  Phase = "active"
	Waiting Phase = "waiting" // it has nothing to do, and others have not finished
	Sealing Phase = "sealing"
	Ended   Phase = "ended"
)

// NewState is a worker that begins. It looks first: the task may be complete.
func NewState(p Params) (State, Effect) {
	s := State{Params: p, drained: make([]bool, p.In)}
	return s, s.now
}

// Phase is what the worker is at.
func (s State) Phase() Phase {
	switch s.now.Do {
	case Seal, Close, Complete:
		return Sealing
	case End:
		return Ended
	case Pause:
		return Waiting
	}
	return Active
}

// Step takes the answer to the last effect and says what is next.
func Step(s State, e Event) (State, Effect) {
	s.drained = slices.Clone(s.drained)
	s.now = s.next(e)
	return s, s.now
}

func (s *State) next(e Event) Effect {
	if s.now.Do == End {
		return s.now
	}
	switch e := e.(type) {
	case Looked:
		return s.looked(e)
	case Received:
		return s.received(e)
	case Done:
		return s.done()
	}
	s.blind = true // nothing is remembered of what failed
	return Effect{Do: Pause}
}

// looked is where the end is decided.
func (s *State) looked(e Looked) Effect {
	idle := s.idle
	s.empty, s.worked, s.idle, s.blind = 0, 0, false, e.Held
	for i, d := range e.Drained {
		s.drained[i] = s.drained[i] || d
	}
	switch {
	case e.Complete:
		return Effect{Do: End}
	case !slices.Contains(s.drained, false):
		return s.seal(0)
	case e.Held || idle:
		return Effect{Do: Pause}
	}
	return s.receive(s.First)
}

// receive asks the next shard from here that is not drained.
func (s *State) receive(from int) Effect {
	for i := range s.In {
		if at := (from + i) % s.In; !s.drained[at] {
			return Effect{Do: Receive, Shard: at}
		}
	}
	return Effect{Do: Look}
}

func (s *State) received(e Received) Effect {
	if e.Some {
		s.empty = 0
		return Effect{Do: Work, Shard: s.now.Shard}
	}
	if s.empty++; s.empty >= s.open() {
		s.idle = true
		return Effect{Do: Look}
	}
	return s.receive(s.now.Shard + 1)
}

// open is how many shards are not drained.
func (s *State) open() (n int) {
	for _, d := range s.drained {
		if !d {
			n++
		}
	}
	return n
}

func (s *State) done() Effect {
	switch s.now.Do {
	case Work:
		s.First = (s.now.Shard + 1) % s.In
		if s.LookAfter > 0 {
			if s.worked++; s.worked >= s.LookAfter {
				return Effect{Do: Look}
			}
		}
		return s.receive(s.First)
	case Seal:
		return s.seal(s.now.Shard + 1)
	case Close:
		return Effect{Do: Complete}
	case Complete:
		return Effect{Do: End}
	}
	if s.blind {
		return Effect{Do: Look}
	}
	return s.receive(s.First)
}

// seal ends what comes after, shard by shard, then the sink, then the task.
func (s *State) seal(from int) Effect {
	switch {
	case from < s.Out:
		return Effect{Do: Seal, Shard: from}
	case s.Sink:
		return Effect{Do: Close}
	}
	return Effect{Do: Complete}
}
