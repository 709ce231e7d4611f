package walk

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/proof/sim/machine"
)

// Key implements check.Model. The log is named by the value at the entry that everyone has read and by what stands
// behind it. Indexes and sequence numbers are named by their order: states that differ only in how many entries it took
// to reach them are one.
func (m Model) Key(s *State) string {
	n := newNames(s)
	s.appendKey(nil, n) // collects the indexes
	n.rank()
	return string(s.appendKey(make([]byte, 0, 1024), n))
}

// Names gives indexes their rank among those that a state mentions. Without a base it names everything as it is.
type Names struct {
	base    *cluster.Value      // that everyone has read
	skip    []string            // of the rules
	known   []string            // documents of its members, and of those that may become members by what was written since or is under way
	aliases map[string]uint64   // by text, in the order in which they are first met
	classes map[string][]uint64 // numbers of each class of which only the order counts: of "" indexes
	ranked  bool
}

// newNames takes the value that everyone has read as base. Where members are prompt that is the newest one: one that is
// behind reads all of it in one go before it decides anything else, and until then its state alone says what it does.
func newNames(s *State) *Names {
	read := s.head().Index()
	for _, me := range s.members {
		if me.up && (!s.bounds.Prompt || s.rules.Settled) && s.reads(me) {
			read = min(read, me.index())
		}
	}
	n := &Names{base: s.at(read), skip: s.rules.Skip, aliases: map[string]uint64{},
		classes: map[string][]uint64{"": make([]uint64, 0, 64)}}
	for m := range n.base.Members() {
		n.known = append(n.known, m.Heartbeat)
	}
	for _, r := range s.after(read) {
		n.known = Heartbeats(n.known, r.entry.Commands)
	}
	if s.rules.Names == nil {
		return n
	}
	for _, o := range s.orphans {
		n.known = append(n.known, s.rules.Names(o.effect)...)
	}
	for i := range s.members {
		for _, e := range s.members[i].calls {
			if s.way(e) != Secret {
				n.known = append(n.known, s.rules.Names(e)...)
			}
		}
	}
	return n
}

// Known tells whether a member may have heard of a document, now or later.
func (n *Names) Known(key string) bool { return n.base == nil || slices.Contains(n.known, key) }

// Index is the rank of an index.
func (n *Names) Index(i cluster.Index) uint64 {
	return n.of("", uint64(i))
}

// Alias appends the number of a text: states that differ only in such texts, but not in which of them are equal, have
// one key.
func (n *Names) Alias(b []byte, text string) []byte {
	if n.base == nil {
		return append(append(b, text...), 0)
	}
	a, ok := n.aliases[text]
	if !ok {
		a = uint64(len(n.aliases)) + 1
		n.aliases[text] = a
	}
	return binary.AppendUvarint(b, a)
}

// rank gives what was collected its ranks.
func (n *Names) rank() {
	n.ranked = true
	for class, all := range n.classes { // order-free: each by itself
		slices.Sort(all)
		n.classes[class] = slices.Compact(all)
	}
}

// of is the rank of a number in its class. Zero means something of its own.
func (n *Names) of(class string, x uint64) uint64 {
	if x == 0 || n.base == nil {
		return x
	}
	if !n.ranked {
		n.classes[class] = append(n.classes[class], x)
		return 0
	}
	at, _ := slices.BinarySearch(n.classes[class], x)
	return uint64(at) + 1
}

// Version implements [machine.Names]: where versions are ranked, it appends the rank among those of the document.
func (n *Names) Version(b []byte, v string) []byte {
	key, number, ranked := strings.Cut(v, versionMark)
	x, err := strconv.ParseUint(number, 10, 64)
	if !ranked || err != nil {
		return append(append(strconv.AppendInt(b, int64(len(v)), 10), '"'), v...)
	}
	return strconv.AppendUint(b, n.of(key, x), 10)
}

// Any appends everything that values hold, with indexes by their rank, but for the fields that the rules skip.
func (n *Names) Any(b []byte, xs ...any) []byte {
	for _, x := range xs {
		b = machine.AppendNamed(b, x, n, n.skip)
	}
	return b
}

// Fields appends fields of a state, by their paths.
func (n *Names) Fields(b []byte, in machine.Inside, paths ...string) []byte {
	for _, path := range paths {
		b = n.Any(b, in.At(path).Any())
	}
	return b
}

// Seq names a sequence number of a writer. Numbers up to the newest applied one are all alike: duplicates.
func (n *Names) Seq(w cluster.WriterID, seq uint64) int64 {
	if n.base == nil {
		return int64(seq) //nolint:gosec // small numbers
	}
	return max(0, int64(seq)-int64(n.base.Wrote(w))) //nolint:gosec // small numbers
}

// command appends what a command says. It, Entry and value are a good part of a walk: they do without reflection.
func (n *Names) command(b []byte, c cluster.Command) []byte {
	switch c := c.(type) {
	case cluster.PrepareJoin:
		return n.mention(append(b, 1), string(c.Member)+c.Heartbeat, c.Replaces)
	case cluster.AcceptJoin:
		return n.mention(append(b, 2), string(c.Member)+string(c.By), c.Incarnation, c.ByIncarnation)
	case cluster.AbortJoin:
		return n.mention(append(b, 3), string(c.Member), c.Incarnation)
	case cluster.LeaveCluster:
		return n.mention(append(b, 4), string(c.Member), c.Incarnation)
	case cluster.ConfirmMember:
		return n.mention(append(b, 5), string(c.Member)+c.Heartbeat, c.Incarnation)
	case cluster.Started:
		return n.mention(append(b, 6), string(c.Partition), c.Token)
	case cluster.Stopped:
		return n.mention(append(b, 7), string(c.Partition), c.Token)
	}
	return n.Any(append(b, 8), c)
}

func (n *Names) mention(b []byte, what string, indexes ...cluster.Index) []byte {
	b = append(append(b, what...), 0)
	for _, i := range indexes {
		b = binary.AppendUvarint(b, n.Index(i))
	}
	return b
}

// Entry appends what an entry says. What its writer had read matters where it lists all that it owns.
func (n *Names) Entry(b []byte, e cluster.Entry) []byte {
	b = append(append(b, e.Writer...), 0)
	b = binary.AppendVarint(b, n.Seq(e.Writer, e.Seq))
	b = append(b, byte(len(e.Commands)))
	for _, c := range e.Commands {
		b = n.command(b, c)
		if o, ok := c.(cluster.Own); ok && o.Full {
			b = n.Any(b, e.BaseIndex)
		}
	}
	return b
}

// Box appends the parts of an outbox that decide what its writer appends, but not when.
func (n *Names) Box(b []byte, w cluster.WriterID, o *outbox.Box) []byte {
	b = n.Any(b, n.Seq(w, o.Seq), o.Busy, o.Limit)
	for _, r := range machine.Into(o).At("refusals").List() {
		b = n.Any(append(b, 1), r.At("tries").Any())
	}
	if o.Pending == nil {
		return append(b, 0)
	}
	return n.Entry(n.Any(append(b, 2), o.Pending.Known, o.Pending.Maybe, o.Pending.Acks > 0), o.Pending.Entry)
}

// value appends the records that decide what a value does next. The job never changes.
func (n *Names) value(b []byte, v *cluster.Value) []byte {
	for m := range v.Members() {
		b = append(append(b, m.ID...), 1, byte(m.State))
		b = n.mention(b, m.Heartbeat, m.Incarnation, m.Changed)
	}
	for p := range v.Partitions() {
		b = append(append(b, p.Owner...), 2, byte(p.State))
		b = n.mention(b, string(p.Next), p.Token, p.NextToken)
	}
	return b
}

func (s *State) appendKey(b []byte, n *Names) []byte {
	b = n.value(b, n.base)
	if s.rules.Value != nil {
		b = s.rules.Value(b, n.base, n)
	}
	b = append(b, byte(s.head().Index()-n.base.Index()))
	for _, r := range s.after(n.base.Index()) {
		b = binary.AppendUvarint(b, n.Index(r.entry.Index))
		b = n.Entry(b, r.entry)
	}
	for _, times := range s.used {
		b = append(b, byte(times))
	}
	b = append(b, byte(len(s.docs)), byte(len(s.orphans)))
	for _, d := range s.docs {
		if s.rules.Doc != nil {
			b = s.rules.Doc(append(append(b, byte(d.Of.member), d.Of.start), d.Of.session...), d.Doc, n)
			continue
		}
		b = n.Any(append(append(b, d.Key...), 0), d.Version)
		if !s.rules.Heartbeat(d.Key) {
			b = append(append(b, 0, byte(d.Of.member), d.Of.start), d.Of.session...)
			if s.rules.Decode != nil {
				b = n.Any(b, d.Of.says)
			} else {
				b = append(b, d.Value...)
			}
		}
	}
	b = s.appendLate(b, n)
	b = s.appendGuardians(s.appendGroup(b, n), n)
	for i := range s.members {
		b = s.appendMember(b, s.members[i], n)
	}
	return append(b, s.broken...)
}

// appendLate appends the late writes; their order makes no difference.
func (s *State) appendLate(b []byte, n *Names) []byte {
	if s.rules.Over == nil { // replica has few: the states that differ in their order are walked twice
		for _, o := range s.orphans {
			b = s.rules.Effect(b, o.effect, n)
		}
		return b
	}
	late := make([]machine.Effect, len(s.orphans))
	for i, o := range s.orphans {
		late[i] = o.effect
	}
	return s.appendCalls(b, late, n)
}

// appendMember appends what the model keeps beside the member's own state. What runs follows from that.
func (s *State) appendMember(b []byte, m *member, n *Names) []byte {
	if !m.up {
		return append(b, 0, m.starts, flag(m.gone))
	}
	b = append(b, 1, m.starts, flag(m.leaving), byte(len(m.calls)), byte(len(m.answers)))
	if s.rules.Machine.Group {
		b = s.appendInquiry(append(b, flag(m.awake())), m, n)
	} else {
		b = binary.AppendVarint(b, int64(m.clock))
	}
	if s.reads(m) {
		b = append(b, byte(max(n.base.Index(), m.index()+1)-n.base.Index())) // 0: not so far as all have
	}
	for _, h := range m.hints {
		b = append(append(b, h...), 0)
	}
	b = s.appendCalls(b, m.calls, n)
	for _, a := range m.answers {
		if a, ok := a.(kernel.Appended); ok { // whether it is applied at once
			b = n.Any(b, a.Index == m.index()+1)
		}
		b = n.Any(b, a)
	}
	return s.rules.Key(b, m.state, n)
}

// appendCalls appends what is under way; in which order it was asked for makes no difference.
func (s *State) appendCalls(b []byte, calls []machine.Effect, n *Names) []byte {
	if len(calls) == 1 {
		return s.rules.Effect(b, calls[0], n)
	}
	all := make([]string, len(calls))
	for i, e := range calls {
		all[i] = string(s.rules.Effect(nil, e, n))
	}
	slices.Sort(all)
	for _, one := range all {
		b = append(b, one...)
	}
	return b
}

func flag(f bool) byte {
	if f {
		return 1
	}
	return 0
}
