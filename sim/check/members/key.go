package members

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
)

// Key implements check.Model. The log is named by the value at the entry that everyone has read and by what stands behind it. Indexes
// and sequence numbers are named by their order: states that differ only in how many entries it took to reach them are one.
func (m Model) Key(s *State) string {
	k := newNames(s)
	s.appendKey(nil, k) // collects the indexes
	slices.Sort(k.indexes)
	k.indexes, k.ranked = slices.Compact(k.indexes), true
	return string(s.appendKey(make([]byte, 0, 1024), k))
}

// names gives indexes their rank among those that a state mentions.
type names struct {
	base    *cluster.Value // that everyone has read
	pulses  []string       // of its members, and of those that may become members by what was written since or is under way
	indexes []cluster.Index
	ranked  bool
}

// newNames takes the value that everyone has read as base. Where members are prompt that is the newest one: one that is behind reads all
// of it in one go before it decides anything else, and until then its state alone says what it does.
func newNames(s *State) *names {
	read := s.head().Index()
	for _, me := range s.members {
		if me.up && !s.bounds.Prompt {
			read = min(read, me.state.Value().Index())
		}
	}
	k := &names{base: &s.log[uint64(read)-s.log[0].Index].value, indexes: make([]cluster.Index, 0, 64)}
	for m := range k.base.Members() {
		k.pulses = append(k.pulses, m.Pulse)
	}
	for _, r := range s.after(read) {
		k.mayCome(r.entry)
	}
	for _, e := range s.orphans {
		k.mayCome(e)
	}
	for i := range s.members {
		m := s.members[i]
		k.pulses = append(k.pulses, m.check)
		if m.append != nil {
			k.mayCome(*m.append)
		}
	}
	return k
}

func (k *names) mayCome(e cluster.Entry) {
	for _, c := range e.Commands {
		switch c := c.(type) {
		case cluster.PrepareJoin:
			k.pulses = append(k.pulses, c.Pulse)
		case cluster.ConfirmMember:
			k.pulses = append(k.pulses, c.Pulse)
		}
	}
}

// Pulse implements replica.Naming.
func (k *names) Pulse(key string) bool { return slices.Contains(k.pulses, key) }

// Index implements replica.Naming.
func (k *names) Index(i cluster.Index) uint64 {
	if i == 0 {
		return 0
	}
	if !k.ranked {
		k.indexes = append(k.indexes, i)
		return 0
	}
	at, _ := slices.BinarySearch(k.indexes, i)
	return uint64(at) + 1
}

// Seq implements replica.Naming. Numbers up to the newest applied one are all alike: duplicates.
func (k *names) Seq(w cluster.WriterID, seq uint64) int64 {
	return max(0, int64(seq)-int64(k.base.Wrote(w))) //nolint:gosec // small numbers
}

// Command implements replica.Naming.
func (k *names) Command(b []byte, c cluster.Command) []byte {
	switch c := c.(type) {
	case cluster.PrepareJoin:
		return k.mention(append(b, 1), string(c.Member)+c.Pulse, c.Replaces)
	case cluster.AcceptJoin:
		return k.mention(append(b, 2), string(c.Member)+string(c.By), c.Incarnation, c.ByIncarnation)
	case cluster.AbortJoin:
		return k.mention(append(b, 3), string(c.Member), c.Incarnation)
	case cluster.LeaveCluster:
		return k.mention(append(b, 4), string(c.Member), c.Incarnation)
	case cluster.ConfirmMember:
		return k.mention(append(b, 5), string(c.Member)+c.Pulse, c.Incarnation)
	case cluster.Started:
		return k.mention(append(b, 6), string(c.Partition), c.Token)
	case cluster.Stopped:
		return k.mention(append(b, 7), string(c.Partition), c.Token)
	}
	panic(fmt.Sprintf("the model has no name for a %T", c))
}

func (k *names) mention(b []byte, what string, indexes ...cluster.Index) []byte {
	b = append(append(b, what...), 0)
	for _, i := range indexes {
		b = binary.AppendUvarint(b, k.Index(i))
	}
	return b
}

func (k *names) entry(b []byte, e cluster.Entry) []byte {
	b = append(append(b, e.Writer...), 0)
	b = binary.AppendVarint(b, k.Seq(e.Writer, e.Seq))
	b = append(b, byte(len(e.Commands)))
	for _, c := range e.Commands {
		b = k.Command(b, c)
	}
	return b
}

// value appends the records that decide what a value does next. The job never changes.
func (k *names) value(b []byte, v *cluster.Value) []byte {
	for m := range v.Members() {
		b = append(append(b, m.ID...), 1, byte(m.State))
		b = k.mention(b, m.Pulse, m.Incarnation, m.Changed)
	}
	for p := range v.Partitions() {
		b = append(append(b, p.Owner...), 2, byte(p.State))
		b = k.mention(b, string(p.Next), p.Token, p.NextToken)
	}
	return b
}

// place tells how far a member has read.
func (k *names) place(i cluster.Index) byte {
	if i < k.base.Index() {
		return 255
	}
	return byte(i - k.base.Index())
}

// plain names everything as it is.
type plain struct{}

func (plain) Index(i cluster.Index) uint64               { return uint64(i) }
func (plain) Seq(_ cluster.WriterID, seq uint64) int64   { return int64(seq) } //nolint:gosec // small numbers
func (plain) Pulse(string) bool                          { return true }
func (plain) Command(b []byte, _ cluster.Command) []byte { return b } // another one comes with another effect

func (s *State) appendKey(b []byte, k *names) []byte {
	b = k.value(b, k.base)
	b = append(b, byte(s.head().Index()-k.base.Index()))
	for _, r := range s.after(k.base.Index()) {
		b = binary.AppendUvarint(b, k.Index(r.entry.Index))
		b = k.entry(b, r.entry)
	}
	u := s.used
	b = append(b, byte(u.Crashes), byte(u.Restarts), byte(u.Suspicions), byte(u.Duplicates), byte(u.Failures), byte(u.Leaves), byte(len(s.docs)), byte(len(s.orphans)))
	for _, d := range s.docs {
		b = append(append(append(b, d.Key...), 0), d.Version...)
	}
	for _, e := range s.orphans {
		b = k.entry(b, e)
	}
	for i := range s.members {
		b = s.members[i].appendKey(b, k)
	}
	return append(b, s.broken...)
}

// appendKey appends what the model keeps beside the member's own state. What runs follows from that.
func (m *member) appendKey(b []byte, k *names) []byte {
	if !m.up {
		return append(b, 0, m.starts, flag(m.gone))
	}
	b = append(b, 1, m.starts, flag(m.leaving), flag(m.list), flag(m.append != nil), flag(m.answer != nil))
	b = binary.AppendVarint(b, int64(m.clock))
	b = append(b, k.place(m.state.Value().Index()))
	b = append(append(b, m.check...), 0)
	b = append(append(b, m.pulse...), 0)
	if m.append != nil {
		b = k.entry(b, *m.append)
	}
	if m.answer != nil {
		next := m.answer.Index == m.state.Value().Index()+1 // then it is applied at once
		b = binary.AppendUvarint(append(b, byte(m.answer.Outcome), flag(next)), k.Index(m.answer.Index))
	}
	return m.state.AppendKey(b, k)
}

func flag(f bool) byte {
	if f {
		return 1
	}
	return 0
}
