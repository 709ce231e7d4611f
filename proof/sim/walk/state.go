package walk

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/contract"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// State is the store, the members and what is under way between them. It is a value: a move makes another one.
type State struct {
	rules     *Rules
	log       []*record      // from the newest that everyone has read
	truth     *cluster.Value // what the documents say, where there is no log
	assess    machine.Truth
	docs      model.Docs[owner] // that exist
	members   []*member         // each is shared with older states until own copies it
	owned     uint              // bit i: members[i] is not shared
	orphans   []orphan          // writes that nobody waits for any more, and that may be done at any time or never
	guardians []guardian
	ends      []string // sessions whose end is still on its way to the store, a second time
	bounds    Config
	used      Faults // so far
	broken    string
	changed   []string // keys that the move has changed, "" for the log; told of at its end
	room      memory.Group
	seats     []seat // memberships in the group
	asks      uint64 // calls to the group so far
	puts      uint64 // of documents so far, for rules that decode
	heard     uint64 // a hash of the events and effects of the move
}

// record is one entry of the log, with what it made of the value.
type record struct {
	store.Record
	entry cluster.Entry
	value cluster.Value
}

type doc = model.Doc[owner]

// life is one start of the process in the place of a member.
type life struct {
	member int
	start  byte
}

// life is the one that the process in place i has, or had last.
func (s *State) life(i int) life { return life{i, s.members[i].starts} }

// owner is the process that wrote a document.
type owner struct {
	life
	session string // "": it does not go with its process
	says    any    // for rules that decode
}

// orphan is a write whose sender does not wait for it.
type orphan struct {
	life
	effect machine.Effect
}

// member is one member's process, or the place of one.
type member struct {
	up      bool
	starts  byte
	leaving bool
	gone    bool // has left gracefully
	lost    byte // sessions
	state   machine.State
	clock   protocol.Instant
	calls   []machine.Effect    // under way
	answers []machine.Event     // of writes, wait until the member goes on; in one order, since they come at once
	hints   []string            // prefixes that it has yet to be told of, sorted
	inquiry *inquiry            // to the group; never changed
	work    protocol.Assignment // what the supervisor runs
}

// token is the one under which the member does the work of a partition: it runs it, and its lease is not over by its
// own clock. It is 0 for one that does not: a member whose clock has run on does nothing, because what it runs asks for
// its lease first.
func (m *member) token(p cluster.PartitionID) cluster.Token {
	if !m.up || m.clock >= m.work.ValidUntil {
		return 0
	}
	for _, g := range m.work.Grants {
		if g.Partition == p {
			return g.Token
		}
	}
	return 0
}

// awake tells whether the member has noticed how late it is.
func (m *member) awake() bool { return m.clock == m.state.Now() }

// index is how far the member has read.
func (m *member) index() cluster.Index { return m.state.Value().Index() }

// writing tells whether a write of the member is under way.
func (s *State) writing(m *member) bool {
	return slices.ContainsFunc(m.calls, func(e machine.Effect) bool { return s.way(e) == Risky })
}

func (s *State) way(e machine.Effect) Way { return s.rules.Way(s.bounds, e) }

func start(r *Rules, c Config) *State {
	s := &State{rules: r, members: make([]*member, c.Members), bounds: c, room: memory.NewGroup(0)}
	for i := range s.members {
		s.members[i] = &member{}
	}
	if r.Machine.Fold == nil {
		s.truth, s.assess = &cluster.Value{}, r.Machine.Truth()
		for i := range s.members { // the first one submits the job, and then the others join
			s.begin(i)
			s.quiesce()
			if i == 0 {
				s.step(i, kernel.Proposed{ID: 1, Commands: founding(c).Commands})
				s.quiesce()
			}
		}
		return s
	}
	s.append(r.Machine.Encode(founding(c)))
	if r.Settled {
		for i := range s.members {
			s.begin(i)
			s.quiesce()
		}
	}
	return s
}

// clone is a state that may be changed.
func (s *State) clone() *State {
	next := *s
	next.members, next.owned = slices.Clone(s.members), 0
	return &next
}

// own is a member that may be changed.
func (s *State) own(i int) *member {
	if s.owned&(1<<i) == 0 {
		m := *s.members[i]
		s.members[i] = &m
		s.owned |= 1 << i
	}
	return s.members[i]
}

// append puts an entry into the log.
func (s *State) append(data []byte) uint64 {
	before := s.head()
	r := &record{Record: store.Record{Index: uint64(before.Index()) + 1, Data: data}}
	c, err := s.rules.Machine.Fold(*before, r.Record)
	if err != nil || c.Entry == nil {
		s.broken = "everything that is written is an entry"
		return r.Index
	}
	r.entry, r.value = *c.Entry, c.After
	s.log = append(slices.Clip(s.log), r)
	s.note("")
	if why := contract.Broken(before, &r.value, r.entry, c.Done); s.broken == "" {
		s.broken = why
	}
	return r.Index
}

// head is the value of the whole log.
func (s *State) head() *cluster.Value {
	if s.truth != nil {
		return s.truth
	}
	if len(s.log) == 0 {
		return &cluster.Value{}
	}
	return &s.log[len(s.log)-1].value
}

// at is the value at an index.
func (s *State) at(i cluster.Index) *cluster.Value {
	if s.truth != nil {
		return s.truth
	}
	return &s.log[uint64(i)-s.log[0].Index].value
}

// after is the log behind an index. Its indexes are dense.
func (s *State) after(i cluster.Index) []*record {
	if len(s.log) == 0 {
		return nil
	}
	return s.log[uint64(i)+1-s.log[0].Index:]
}

// trim drops what everyone has read.
func (s *State) trim() {
	if len(s.log) == 0 {
		return
	}
	read := s.head().Index()
	for _, m := range s.members {
		if m.up && s.reads(m) {
			read = min(read, m.index())
		}
	}
	if drop := uint64(read) - s.log[0].Index; drop > 0 {
		s.log = slices.Clone(s.log[drop:])
	}
}

// reads tells whether a member folds the log.
func (s *State) reads(m *member) bool {
	if s.rules.Read == nil {
		return s.rules.Folds != nil && s.rules.Folds(m.state)
	}
	return s.rules.Read(m.state, store.Page{}) != nil
}

// behind tells whether there is something in the log that a member has yet to read.
func (s *State) behind(m *member) bool { return s.reads(m) && m.index() < s.head().Index() }

// live tells whether a process lives.
func (s *State) live(l life) bool { return s.members[l.member].up && s.life(l.member) == l }

// same tells whether a document goes with the same session.
func (o owner) same(d doc) bool { return d.Of.life == o.life && d.Of.session == o.session }

// vanish ends a session: its documents go.
func (s *State) vanish(of owner) {
	before := s.docs
	s.docs = slices.DeleteFunc(slices.Clone(s.docs), of.same)
	for _, d := range before {
		if of.same(d) {
			s.note(d.Key)
		}
	}
}

// Broken implements check.Model.
func (m Model) Broken(s *State) string { return s.broken }

// checkWork looks at who does what: no two members act for one partition at once unless its hand-over wants it, and
// whoever acts takes part as far as it knows. And nobody counts more starts of the group than there were.
func (s *State) checkWork() {
	if e, _ := s.head().Epoch(); e.Start > 1+uint64(s.used[Forgets]) {
		s.broken = fmt.Sprintf("epoch %s counts another start of the group, which was forgotten %d times", e,
			s.used[Forgets])
	}
	for p := range s.head().Partitions() {
		var owner *member
		for i := range s.members {
			m := s.members[i]
			if m.token(p.ID) == 0 {
				continue
			}
			if !slices.Contains(s.rules.Machine.Joined, s.rules.Machine.Phase(m.state)) {
				s.broken = fmt.Sprintf("only joined members work: %s runs %s", name(i), p.ID)
			}
			if owner != nil && (s.bounds.Handover == cluster.HandoverAtMostOne || owner.token(p.ID) == m.token(p.ID)) {
				// where the new owner may begin beside the old one, it does so under a larger token
				s.broken = fmt.Sprintf("G2: %s runs on two members at once", p.ID)
			}
			owner = m
		}
	}
}

// Good implements check.Model: everyone that runs is joined, has read all and says nothing more; the dead are gone from
// the value; every partition runs where it is granted. When nobody runs there is nobody to say anything.
func (m Model) Good(s *State) bool {
	live := 0
	for _, me := range s.members {
		if !me.up && me.starts == 0 {
			return false
		}
		if me.up {
			live++
		}
	}
	return live == 0 || s.settled() && s.allRun()
}

func (s *State) settled() bool {
	for i, me := range s.members {
		rec, ok := s.head().Member(name(i))
		if me.up != ok || me.up && (rec.State != cluster.MemberJoined || !s.content(me)) {
			return false
		}
	}
	return true
}

// content tells whether a member has read all and wants nothing.
func (s *State) content(m *member) bool {
	wants := slices.ContainsFunc(m.calls, func(e machine.Effect) bool { return s.way(e) != Quiet })
	return !m.leaving && m.awake() && m.inquiry == nil && len(m.hints) == 0 && !wants && !s.behind(m)
}

func (s *State) allRun() bool {
	for p := range s.head().Partitions() {
		if p.State != cluster.PartitionGranted || s.members[int(p.Owner[0]-'a')].token(p.ID) == 0 {
			return false
		}
	}
	return true
}
