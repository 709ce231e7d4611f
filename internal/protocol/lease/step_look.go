package lease

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/elect"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// look is what a member sees of the others: who leads, and what the board says.
type look struct {
	call
	hint       bool // there may be more to see than what is being read
	lock       call // the lock of the leader, or the fence of its session, is being written
	own        call // documents of our own are being read again
	view       call
	shown      uint64    // number of the view that the value is from
	leader     leaderDoc // the lock, as it was read
	election   elect.Election
	index      cluster.Index // of the Node List that is known
	members    []cluster.Member
	board      boardDoc
	lockAt     store.Version    // of leader
	boardAt    store.Version    // of board
	boardSince protocol.Instant // when the board was seen to have changed
	specs      cluster.Index
}

// lookAround reads who leads and what the board says, and what follows from that.
func (s *step) lookAround() {
	if s.Is != member.PhaseMember {
		return
	}
	if s.look.due(s.At) {
		hinted := s.look.hint
		s.look.hint = false
		keys := []string{keyLeader, keyBoard}
		if s.look.board.Index != s.look.index {
			keys = append(keys, keyNodes)
		}
		if o := s.look.election.Holder; o.Key != "" && (hinted || s.probes(o)) {
			keys = append(keys, o.Key)
		}
		s.fetch(&s.look.call, append(keys, s.dueBeats()...)...)
	}
	if s.look.board.View > s.look.shown && !s.lead.holds && s.look.view.due(s.At) {
		s.look.view.busy = true
		s.Emit(ReadView{View: s.look.board.View})
	}
	s.readOwn()
}

// probes tells whether it is time to look at the heartbeat of the leader. Where it is there and the store hints at what
// becomes of it, that is seldom.
func (s *step) probes(o heartbeat.Observation) bool {
	return !s.Hints.Docs || !o.Known || o.Gone() || s.At >= min(o.Soon(s.Timing, s.Poll), s.lateAt())
}

// looked takes in what was seen.
func (s *step) looked(ev Fetched) {
	s.look.call = call{next: s.At.Add(s.Poll)}
	if s.look.hint && ev.Err == "" {
		s.look.next = s.At
	}
	if ev.Err != "" || s.Is != member.PhaseMember {
		return
	}
	for _, d := range ev.Docs {
		if err := s.see(d, ev.Sent); err != nil {
			s.complain(err)
		}
	}
	if !s.Hints.Docs && s.look.next > s.At {
		s.look.next = s.nextLook()
	}
	s.look.next = min(s.look.next, s.silent(s.look.election.Holder), s.lateAt())
	s.elect(ev.Docs)
}

func (s *step) see(d store.Doc, sent protocol.Instant) error {
	switch d.Key {
	case keyLeader:
		l, err := readChanged(d, s.look.lockAt, s.look.leader)
		if err != nil {
			return err
		}
		s.look.leader, s.look.lockAt = l, d.Version
		seen := elect.Seen{Version: d.Version}
		if d.Version != "" {
			seen.Heartbeat = nodeKey(l.Holder)
		}
		if s.look.election = s.look.election.Read(seen, s.At); !s.look.election.Holder.Known &&
			l.Holder != s.Session() {
			s.look.next = s.At // look at its heartbeat
		}
	case keyBoard:
		b, err := readChanged(d, s.look.boardAt, s.look.board)
		if err != nil {
			return err
		}
		if d.Version == "" || d.Version != s.look.boardAt {
			s.seeBoard(b)
		}
		s.look.boardAt = d.Version
	case keyNodes:
		f := s.known.learn([]store.Doc{d})
		if err := f.problem(keyNodes); err != nil {
			return err
		}
		s.look.index, s.look.members = f.nodes.Index, f.members
	case s.look.election.Holder.Key:
		s.look.election = s.look.election.Probed(d.Key, d.Version, heartbeat.StatedTTL(d.Value), sent, s.At)
	default:
		s.lead.beats = s.lead.beats.With(s.lead.beats.Of(d.Key).Read(d.Version, heartbeat.StatedTTL(d.Value), sent, s.At))
	}
	return nil
}

// readChanged decodes a document, if it is another version than the one that is known.
func readChanged[T any](d store.Doc, at store.Version, known T) (T, error) {
	if at != "" && d.Version == at {
		return known, nil
	}
	return read[T](d)
}

// seeBoard takes in the board. It is a hint: documents decide.
func (s *step) seeBoard(b boardDoc) {
	if b.Write != s.look.board.Write {
		s.shuns = nil
		s.look.own.next, s.look.boardSince = s.At, s.At
	}
	was := s.look.board.Free
	for i, e := range b.Free {
		b.Free[i].since = s.At
		same := func(w boardFree) bool { return w.Partition == e.Partition && w.Token == e.Token }
		if at := slices.IndexFunc(was, same); at >= 0 {
			b.Free[i].since = was[at].since
		}
	}
	s.look.board = b
}

// elect takes the lock of the leader where nobody has it whose session lives. The session is fenced first, and the lock
// is written over and not removed, so that the term grows. The deputy of a leader that is late fences nobody: all that
// a leader writes is decided by the documents that it writes over.
func (s *step) elect(docs []store.Doc) {
	if s.look.lock.busy || s.At < s.look.lock.next {
		return
	}
	e := s.look.election
	i := slices.IndexFunc(docs, func(d store.Doc) bool { return d.Key == e.Holder.Key })
	free := s.deputy() && s.Late(e.Holder)
	if i >= 0 && e.Seen.Version != "" {
		n, err := read[nodeDoc](docs[i])
		free = free || err == nil && (docs[i].Version == "" || n.State == heartbeat.Fenced)
	}
	if free {
		s.takeLock()
		return
	}
	switch e.Next(nodeKey(s.Session()), 0, s.Silence(e.Holder), s.At) {
	case elect.Lead:
		s.lead.take(s.look.leader.Term)
	case elect.Claim:
		s.takeLock()
	case elect.Remove:
		if i >= 0 && s.Dead(e.Holder) && s.At.Sub(e.Holder.Since) >= s.Silence(e.Holder)+s.rank() {
			n, _ := read[nodeDoc](docs[i])
			s.write(&s.look.lock, s.fenced(docs[i], n))
		}
	}
}

// rank is how long we let others go first, but for those that are dead.
func (s *step) rank() time.Duration {
	at := 0
	for _, m := range s.look.members {
		if m.ID == s.Member {
			break
		}
		if m.Heartbeat != s.look.election.Holder.Key && !s.lead.beats.Of(m.Heartbeat).Gone() {
			at++
		}
	}
	return time.Duration(min(at, 8)) * s.Poll
}

func (s *step) takeLock() {
	if o := s.look.election.Holder; o.Key != "" {
		s.lead.beats = s.lead.beats.With(o) // as long as the former leader has been silent
	}
	l := leaderDoc{Holder: s.Session(), Term: s.look.leader.Term + 1, Write: s.writeName()}
	s.write(&s.look.lock, leadWrite{doc: written(keyLeader, s.look.election.Seen.Version, l)})
}

func (s *step) viewRead(ev ViewRead) {
	s.look.view = call{next: s.At.Add(s.Poll)}
	s.Answered(ev.Err)
	switch {
	case ev.Halt != nil:
		s.Halt(s.value.Index(), ev.Halt)
	case ev.Err == "" && ev.View > s.look.shown && !s.lead.holds:
		s.look.shown, s.value = ev.View, ev.Value
		s.look.own.next = s.At
		s.Emit(member.Applying{Value: s.value})
	}
}

// readOwn reads again those documents of ours that somebody else has changed, by what the board and the view say: what
// is to be given up, specs that were updated.
func (s *step) readOwn() {
	if !s.look.own.due(s.At) || s.look.own.busy {
		return
	}
	s.look.own.next = s.At.Add(s.Poll)
	var keys []string
	add := func(id cluster.PartitionID) {
		job, _, _ := id.Split()
		keys = append(keys, partitionKey(id), jobKey(job))
	}
	for _, e := range s.look.board.Stop {
		if i, ok := findHeld(s.held, e.Partition); ok && s.held[i].partition.State == cluster.PartitionGranted &&
			s.held[i].partition.Token == e.Token {
			add(e.Partition)
		}
	}
	if s.look.board.Specs > s.look.specs {
		for _, h := range s.held {
			add(h.id)
		}
	}
	s.claimAgain()
	if keys == nil {
		s.look.specs = s.look.board.Specs
		return
	}
	slices.Sort(keys)
	s.fetch(&s.look.own, slices.Compact(keys)...)
}

// claimAgain confirms claims that the value has in this incarnation, and we do not hold: they were stored, and we did
// not hear of it. What we have given up since is not claimed by that: its token is another one.
func (s *step) claimAgain() {
	if m, ok := s.value.Member(s.Member); !ok || m.Incarnation != s.Inc {
		return
	}
	for p := range s.value.OwnedBy(s.Member) {
		c := cluster.Claim{Partition: p.ID, Token: p.Token - 1, Member: s.Member, Incarnation: s.Inc}
		if p.Owner == s.Member && !p.Offered && !s.owns(p.ID) && !s.trying(p.ID) && len(s.tries) < maxTries &&
			!slices.Contains(s.shuns, grantID{c.Partition, c.Token}) {
			s.try(c)
		}
	}
}

func (s *step) ownRead(ev Fetched) {
	s.look.own = call{next: s.At.Add(s.Poll)}
	if ev.Err != "" || s.Is != member.PhaseMember {
		return
	}
	f := s.known.learn(ev.Docs)
	for _, d := range ev.Docs {
		if err := f.problem(d.Key); err != nil {
			s.complain(err)
		}
	}
	s.look.specs = s.look.board.Specs
	for _, p := range f.partitions {
		job, _, _ := p.partition.ID.Split()
		if i, ok := findHeld(s.held, p.partition.ID); ok && !s.trying(p.partition.ID) { // else what we say of it may be stored by now, and this was read before
			j, _ := f.job(job)
			s.newSpec(i, j.job)
			s.ownSeen(f.read(p.key), p.partition.ID)
		}
	}
}

func (s *step) newSpec(i int, j cluster.Job) {
	_, task, _ := s.held[i].id.Split()
	if spec, ok := j.Task(task); ok && j.SpecIndex > s.held[i].specIndex && j.State == cluster.JobRunning {
		h := *s.held[i]
		h.spec, h.specIndex = spec, j.SpecIndex
		s.hold(h)
	}
}

// Watching is what the store is asked to hint at: the lock and the board, the heartbeat of the leader and, for the
// leader, all heartbeats and all that members write.
func (s State) Watching() (prefixes []string, log bool) {
	switch {
	case s.Is != member.PhaseMember:
		return nil, false
	case s.lead.holds:
		return []string{lockPrefix, nodePrefix, jobPrefix, partitionPrefix}, false
	case s.look.leader.Holder != "":
		member, _, _ := strings.Cut(s.look.leader.Holder, "/")
		return []string{lockPrefix, nodePrefix + member + "/"}, false
	}
	return []string{lockPrefix}, false
}

// hinted brings forward what would be looked at later anyway.
func (s *step) hinted(ev member.Hinted) {
	if ev.Prefix == jobPrefix || ev.Prefix == partitionPrefix || ev.Prefix == nodePrefix {
		s.lead.hint = true
		s.lead.next = min(s.lead.next, max(s.At, s.lead.last.Add(s.Poll/4)))
		return
	}
	s.look.hint = true
	s.look.next = min(s.look.next, s.At)
}
