package members

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/sim/contract"
	"github.com/rota-run/rota/store"
)

// State is the store, the members and what is under way between them. It is a value: a move makes another one.
type State struct {
	log     []*record       // from the newest that everyone has read
	docs    []replica.Pulse // that exist, sorted by key
	members []*member       // each is shared with older states until own copies it
	owned   uint            // bit i: members[i] is not shared
	orphans []cluster.Entry // appends that nobody waits for any more, and that may be done at any time or never
	bounds  Config
	used    Config // faults so far
	broken  string
}

// record is one entry of the log, with what it made of the value.
type record struct {
	store.Record
	entry cluster.Entry
	value cluster.Value
}

// member is one member's process, or the place of one.
type member struct {
	up      bool
	starts  byte
	leaving bool
	gone    bool // has left in order
	state   replica.State
	clock   protocol.Instant
	append  *cluster.Entry    // under way
	answer  *replica.Appended // of an append, waits until the member goes on
	check   string            // key of the pulse that is being read
	list    bool              // pulses are being listed
	pulse   string            // that is being written: the one of another life than the first
	work    supervisor
}

// supervisor is what runs.
type supervisor struct {
	version uint64
	trust   protocol.Instant
	grants  []protocol.Grant
}

// acts tells whether the member does the work of a partition: it runs it, and its trust is not over by its own clock. A member whose
// clock has run on does nothing, because what it runs asks for its trust first.
func (m *member) acts(p cluster.PartitionID) bool { return m.token(p) != 0 }

// token is the one under which the member does the work of a partition; 0 when it does not.
func (m *member) token(p cluster.PartitionID) cluster.Token {
	if !m.up || m.clock >= m.work.trust {
		return 0
	}
	i := slices.IndexFunc(m.work.grants, func(g protocol.Grant) bool { return g.Partition == p })
	if i < 0 {
		return 0
	}
	return m.work.grants[i].Token
}

// awake tells whether the member has noticed how late it is.
func (m *member) awake() bool { return m.clock == m.state.Now() }

func start(c Config) *State {
	s := &State{members: make([]*member, c.Members), bounds: c}
	for i := range s.members {
		s.members[i] = &member{}
	}
	return s.appended(founding(c))
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

// appended is the state in which an entry stands in the log.
func (s *State) appended(e cluster.Entry) *State {
	next := s.clone()
	e.Index = s.head().Index() + 1
	r := &record{Record: store.Record{Index: uint64(e.Index), Data: e.Encode()}, entry: e}
	after, done := s.head().Apply(e)
	r.value = after
	next.log = append(slices.Clip(s.log), r)
	next.broken = contract.Broken(s.head(), &r.value, e, done)
	return next
}

// head is the value of the whole log.
func (s *State) head() *cluster.Value {
	if len(s.log) == 0 {
		return &cluster.Value{}
	}
	return &s.log[len(s.log)-1].value
}

// after is the log behind an index. Its indexes are dense.
func (s *State) after(i cluster.Index) []*record {
	return s.log[uint64(i)+1-s.log[0].Index:]
}

// trim drops what everyone has read.
func (s *State) trim() {
	read := s.head().Index()
	for _, m := range s.members {
		if m.up {
			read = min(read, m.state.Value().Index())
		}
	}
	if drop := uint64(read) - s.log[0].Index; drop > 0 {
		s.log = slices.Clone(s.log[drop:])
	}
}

// find is the place of a pulse, and whether it exists.
func (s *State) find(key string) (int, bool) {
	return slices.BinarySearchFunc(s.docs, key, func(d replica.Pulse, k string) int { return strings.Compare(d.Key, k) })
}

func (s *State) exists(key string) bool {
	_, ok := s.find(key)
	return ok
}

// renew writes a pulse. Versions are counted by the times that somebody was away: clocks stand still otherwise, so nobody renews.
func (s *State) renew(key string) {
	d := replica.Pulse{Key: key, Version: store.Version(rune('0' + s.used.Suspicions))}
	i, ok := s.find(key)
	s.docs = slices.Clone(s.docs)
	if ok {
		s.docs[i] = d
	} else {
		s.docs = slices.Insert(s.docs, i, d)
	}
}

func (s *State) vanish(key string) {
	s.docs = slices.DeleteFunc(slices.Clone(s.docs), func(d replica.Pulse) bool { return d.Key == key })
}
