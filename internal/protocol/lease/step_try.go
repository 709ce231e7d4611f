package lease

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// try is a command of this member, or of a request to it.
type try struct {
	attempt
	id      uint64 // of the call that is under way
	busy    bool
	next    protocol.Instant // not before
	request uint64           // that it belongs to; 0 for one of our own
	at      int              // place in the request
	job     cluster.Job      // of a claim, as it was read
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

// try begins a command of our own. It will ask for these documents too.
func (s *step) try(c cluster.Command, also ...string) {
	also = slices.DeleteFunc(also, func(key string) bool { return key == "" })
	s.tries = append(slices.Clip(s.tries), try{attempt: attempt{command: c, also: also}})
}

// trying tells whether a command of our own about a partition is on its way; "" asks for one about our membership.
func (s *step) trying(id cluster.PartitionID) bool {
	return slices.ContainsFunc(s.tries, func(t try) bool {
		other := takesOut(t.command)
		return t.request == 0 && subject(t.command) == id && (other == "" || other == s.Member)
	})
}

// takesOut is the member that a command takes out of the Node List; "" for other commands.
func takesOut(c cluster.Command) cluster.MemberID {
	switch c := c.(type) {
	case cluster.LeaveCluster:
		return c.Member
	case cluster.ReleaseHold:
		return c.Member
	}
	return ""
}

// advanceTries begins requests, and reads what is still to be read.
func (s *step) advanceTries() {
	s.beginRequests()
	tries := slices.Clone(s.tries)
	for i := range tries {
		t := &tries[i]
		if t.busy || s.At < t.next {
			continue
		}
		t.attempt, t.busy, t.id = t.begin(), true, s.id()
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
			s.tries = append(slices.Clip(s.tries), try{attempt: attempt{command: r.commands[r.begun]}, request: r.id,
				at: r.begun})
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
	t.attempt = t.read(ev.Docs)
	s.decide(i, t)
}

// keep puts a changed try in place.
func (s *step) keep(i int, t try) {
	s.tries = slices.Clone(s.tries)
	s.tries[i] = t
}

// decide makes the decision from what was read, and writes it.
func (s *step) decide(i int, t try) {
	f := s.known.learn(t.docs)
	if !s.lead.holds { // what it has in common with the reads to come is kept decoded; a leader keeps its last pass
		s.known = f
	}
	w := writer{session: s.Session(), write: s.writeName(), atMS: s.wallMS}
	if t.request != 0 && strings.HasPrefix(needs(t.command)[0], jobPrefix) { // else it needs none, or a newer one
		for _, r := range s.queue {
			w.more += cluster.Index(r.open) //nolint:gosec // not negative
		}
		w.more-- // without this one
		if t.index == 0 && s.given < s.taken {
			s.given++
			t.index = s.given
		}
	}
	t.attempt = t.attempt.decide(f, w)
	if t.err != nil {
		s.complain(t.err)
	}
	if c, ok := t.command.(cluster.Claim); ok {
		job, _, _ := c.Partition.Split()
		j, _ := f.job(job)
		t.job = j.job
	}
	switch {
	case t.over:
		s.finishTry(i, t)
		return
	case t.ask == nil:
		t.busy, t.id = true, s.id()
		s.Emit(Write{ID: t.id, Doc: t.put})
	}
	s.keep(i, t)
}

func (s *step) tryWritten(ev Written) {
	i := s.find(ev.ID)
	if i < 0 {
		return
	}
	t := s.tries[i]
	if t.taking != 0 && ev.Outcome == outbox.Done {
		s.given, s.taken = t.taking, t.taking+t.more
	}
	if t.busy, t.attempt = false, t.wrote(ev.Outcome, ev.Version); t.over {
		s.finishTry(i, t)
		return
	}
	if ev.Outcome == outbox.Unknown || ev.Outcome == outbox.NotDone {
		t.next = s.At.Add(s.Poll)
	}
	s.keep(i, t)
}

// finishTry ends a try, and tells its waiter.
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
		s.tellAhead(t)
		return
	}
	if c, ok := t.command.(cluster.FinishPartition); ok && t.result.Accepted {
		s.forgetEnded(func(e grantID) bool { return e == grantID{c.Partition, c.Token} })
	}
	switch id := subject(t.command); {
	case id == "":
	case t.result.Accepted && t.put.Key != "":
		s.ownChanged(t.put)
	case !t.result.Accepted: // what was read may be what a write of ours has left, of which we did not hear
		s.ownReadBack(t.docs, id, t.lost)
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

// attempt is one command on its way, of a member or of a client: read the documents, decide, write the deciding one,
// and again until that is certain. It is a value.
type attempt struct {
	command cluster.Command
	also    []string // documents that are read with those that it needs, for it will ask for them
	docs    []store.Doc
	ask     []string // documents that are to be read; nil where the write is under way, or nothing was read yet
	index   cluster.Index
	taking  cluster.Index // the write takes this index
	more    cluster.Index // and so many after it
	again   bool          // the write is one before the deciding one
	proved  string        // document of the last such write that was acknowledged, or of a fence before
	put     store.Doc     // the write that is under way or of unknown outcome; no key where there is none
	lost    bool          // its outcome is unknown
	over    bool          // it has ended
	result  cluster.Result
	err     error // a document that it needs is damaged
}

// begin asks for all that it needs, unless more is being read already.
func (a attempt) begin() attempt {
	if a.ask == nil {
		a.ask, a.docs = append(needs(a.command), a.also...), nil
	}
	return a
}

// read takes in documents, before they are learned.
func (a attempt) read(docs []store.Doc) attempt {
	a.docs, a.ask = append(slices.Clip(a.docs), docs...), nil
	return a
}

// decide does the command on what was read, or sees that the write of unknown outcome was stored: that is written once
// more, under another name. Then it asks for more, is over, or is to write.
func (a attempt) decide(f *facts, w writer) attempt {
	if a.lost && a.stored() {
		a.put, a.lost = renamed(a.put, w.write), false
		return a
	}
	w.proved, w.index = a.proved, a.index
	v := decide(a.command, f, w)
	switch {
	case v.err != nil:
		a.err, a.result, a.over = v.err, cluster.Result{Reason: v.err.Error()}, true
	case v.more != nil:
		a.ask = v.more
	case v.put.Key == "":
		a.result, a.put, a.over = v.result, store.Doc{}, true
	default:
		a.put, a.taking, a.more, a.again, a.result, a.lost = v.put, v.index, w.more, v.again, v.result, false
	}
	return a
}

// stored tells whether the document that was read is the one that we wrote. Else the write may still come: it is
// conditional, and what is decided next makes it void, or sees it.
func (a *attempt) stored() bool {
	i := slices.IndexFunc(a.docs,
		func(d store.Doc) bool { return d.Key == a.put.Key && string(d.Value) == string(a.put.Value) })
	if i >= 0 {
		a.put.Version = a.docs[i].Version
	}
	return i >= 0
}

// wrote takes in how the write ended, and goes on after one that was stored.
func (a attempt) wrote(o outbox.Outcome, v store.Version) attempt {
	a.ask, a.docs = nil, nil
	if o != outbox.Done {
		a.lost = a.lost || o == outbox.Unknown
		return a
	}
	a.put.Version, a.lost = v, false
	switch {
	case a.taking != 0:
		a.index, a.taking = a.taking, 0
	case a.again:
		a.proved = a.put.Key
	default:
		a.over = true
	}
	return a
}
