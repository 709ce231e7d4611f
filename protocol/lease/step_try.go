package lease

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// try is one command on its way: read the documents, decide, write the deciding one, and again until that is certain.
type try struct {
	id      uint64 // of the call that is under way
	busy    bool
	next    protocol.Instant // not before
	command cluster.Command
	request uint64 // that it belongs to; 0 for one of our own
	at      int    // place in the request
	docs    []store.Doc
	ask     []string // documents that are being read
	index   cluster.Index
	taking  cluster.Index // the write takes this index
	again   bool          // the write is one before the deciding one
	proved  string        // document of the last such write that was acknowledged
	put     store.Doc     // the write that is under way or of unknown outcome; no key where there is none
	name    string        // of the write
	lost    bool          // its outcome is unknown
	result  cluster.Result
	job     cluster.Job // of a claim, as it was read
}

// request is a Proposed that has not been answered.
type request struct {
	id       uint64
	commands []cluster.Command
	begun    int
	results  []cluster.Result
	open     int
}

// maxTries bounds what is on its way at once.
const maxTries = 32

func (s *step) proposed(ev member.Proposed) {
	s.queue = append(slices.Clip(s.queue), request{id: ev.ID, commands: ev.Commands, results: make([]cluster.Result, len(ev.Commands)), open: len(ev.Commands)})
}

// try begins a command of our own.
func (s *step) try(c cluster.Command) { s.tries = append(slices.Clip(s.tries), try{command: c}) }

// trying tells whether a command of our own about a partition is on its way; "" asks for one about our membership.
func (s *step) trying(id cluster.PartitionID) bool {
	return slices.ContainsFunc(s.tries, func(t try) bool { return t.request == 0 && subject(t.command) == id && !s.ofOthers(t.command) })
}

// ofOthers tells whether a command is one of the leader about another member.
func (s *step) ofOthers(c cluster.Command) bool {
	switch c := c.(type) {
	case cluster.LeaveCluster:
		return c.Member != s.Member
	case cluster.ReleaseHold:
		return true
	}
	return false
}

// dropTries gives up what was tried in a session that has ended, and answers requests that may have been done.
func (s *step) dropTries() {
	s.tries = slices.DeleteFunc(slices.Clone(s.tries), func(t try) bool { return t.request == 0 })
}

// advanceTries begins requests, and goes on with what is to be read.
func (s *step) advanceTries() {
	s.beginRequests()
	tries := slices.Clone(s.tries)
	for i := range tries {
		t := &tries[i]
		if t.busy || s.At < t.next {
			continue
		}
		if t.ask == nil {
			t.ask, t.docs = needs(t.command), nil
		}
		t.busy, t.id = true, s.id()
		s.Emit(Fetch{ID: t.id, Keys: t.ask})
	}
	s.tries = tries
}

func (s *step) beginRequests() {
	if s.Is != member.PhaseMember && s.Is != member.PhaseLeaving {
		return
	}
	queue := slices.Clone(s.queue)
	for i := range queue {
		for queue[i].begun < len(queue[i].commands) && len(s.tries) < maxTries {
			r := &queue[i]
			s.tries = append(slices.Clip(s.tries), try{command: r.commands[r.begun], request: r.id, at: r.begun})
			r.begun++
		}
	}
	s.queue = queue
}

// find returns the try whose call this answers.
func (s *step) find(id uint64) int {
	return slices.IndexFunc(s.tries, func(t try) bool { return t.busy && t.id == id })
}

func (s *step) tryFetched(ev Fetched) {
	i := s.find(ev.ID)
	if i < 0 {
		return
	}
	t := s.tries[i]
	t.busy = false
	if ev.Err != "" {
		t.next = s.At.Add(s.Poll)
		s.keep(i, t)
		return
	}
	t.docs = append(slices.Clip(t.docs), ev.Docs...)
	t.ask = nil
	s.decide(i, t)
}

// keep puts a changed try in place.
func (s *step) keep(i int, t try) {
	s.tries = slices.Clone(s.tries)
	s.tries[i] = t
}

// decide does the command on what was read, or sees that our write of unknown outcome was stored.
func (s *step) decide(i int, t try) {
	f := s.learn(t.docs)
	if t.lost && s.stored(&t) {
		s.confirm(i, t)
		return
	}
	t.name = s.writeName()
	w := writer{session: s.Session(), write: t.name, proved: t.proved, index: t.index, atMS: s.wallMS}
	v := decide(t.command, f, w)
	switch {
	case v.err != nil:
		s.complain(f, v.err)
		t.result = cluster.Result{Reason: v.err.Error()}
		s.finishTry(i, t)
	case v.more != nil:
		t.ask = v.more
		s.keep(i, t)
	case v.put == nil:
		t.result, t.put = v.result, store.Doc{}
		s.finishTry(i, t)
	default:
		t.put, t.taking, t.again, t.result, t.lost = *v.put, v.index, v.again, v.result, false
		if c, ok := t.command.(cluster.Claim); ok {
			job, _, _ := c.Partition.Split()
			t.job = f.jobs[job].job
		}
		s.put(i, t)
	}
}

// put writes.
func (s *step) put(i int, t try) {
	t.busy, t.id = true, s.id()
	s.Emit(Write{ID: t.id, Doc: t.put})
	s.keep(i, t)
}

// confirm writes once more, under another name, what was read back.
func (s *step) confirm(i int, t try) {
	name := s.writeName()
	t.put, t.name, t.lost = renamed(t.put, name), name, false
	s.put(i, t)
}

// stored tells whether the document that was read is the one that we wrote. Else the write may still come: it is conditional, and what is decided next
// makes it void, or sees it.
func (s *step) stored(t *try) bool {
	j := slices.IndexFunc(t.docs, func(d store.Doc) bool { return d.Key == t.put.Key })
	if j < 0 || string(t.docs[j].Value) != string(t.put.Value) {
		return false
	}
	t.put.Version = t.docs[j].Version
	return true
}

func (s *step) tryWritten(ev Written) {
	i := s.find(ev.ID)
	if i < 0 {
		return
	}
	t := s.tries[i]
	t.busy, t.ask, t.docs = false, nil, nil
	switch ev.Outcome {
	case Done:
		t.put.Version = ev.Version
		s.acknowledged(i, t)
		return
	case Unknown:
		t.lost = true
		t.next = s.At.Add(s.Poll)
	case NotDone:
		t.next = s.At.Add(s.Poll)
	}
	s.keep(i, t)
}

// acknowledged goes on after a write that was stored.
func (s *step) acknowledged(i int, t try) {
	t.lost, t.ask, t.docs = false, nil, nil
	switch {
	case t.taking != 0:
		t.index, t.taking = t.taking, 0
	case t.again:
		t.proved = t.put.Key
	default:
		s.finishTry(i, t)
		return
	}
	s.keep(i, t)
}

// finishTry ends a try, and tells whoever waits for it.
func (s *step) finishTry(i int, t try) {
	s.tries = slices.Delete(slices.Clone(s.tries), i, i+1)
	s.deeds = append(slices.Clip(s.deeds), protocol.Deed{Command: t.command, Result: t.result, AtMS: s.wallMS})
	s.resolve(t)
	switch c := t.command.(type) {
	case cluster.Claim:
		if t.request == 0 {
			s.claimTried(c, t)
		}
		return
	case cluster.PrepareJoin:
		s.joinTried(t)
		return
	case cluster.LeaveCluster:
		if c.Member == s.Member {
			s.Inc = 0
		}
		s.lead.next = s.At
		return
	}
	switch id := subject(t.command); {
	case id == "":
	case t.result.Accepted && t.put.Key != "":
		s.ownChanged(t.put)
	case !t.result.Accepted: // what was read may be what a write of ours has left, of which we did not hear
		s.ownReadBack(t.docs, id)
	}
}

// resolve answers a request when all its commands were decided.
func (s *step) resolve(t try) {
	i := slices.IndexFunc(s.queue, func(r request) bool { return r.id == t.request })
	if t.request == 0 || i < 0 {
		return
	}
	s.queue = slices.Clone(s.queue)
	r := &s.queue[i]
	r.results = slices.Clone(r.results)
	r.results[t.at] = t.result
	if r.open--; r.open == 0 {
		s.Emit(member.Reply{ID: r.id, Results: r.results})
		s.queue = slices.Delete(s.queue, i, i+1)
	}
}
