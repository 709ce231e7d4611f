package lease

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Rules are those of lease's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Settled: true,
		Heartbeat: func(key string) bool { return strings.HasPrefix(key, "node/") },
		Key:       key, Effect: effect, Doc: document,
		Skip: []string{"Written.ID", "Member.SinceMS", "Partition.ChangedMS"},
	}
}

// way: reads are prompt, for members hear of changes. What only tells again of what documents say is written at once:
// views and the board.
func way(_ walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case lease.Write:
		if e.Doc.Key == "lock/board" {
			return walk.Quiet
		}
		return walk.Risky
	case member.Renew:
		return walk.Unseen
	}
	return walk.Quiet
}

func value(b []byte, v cluster.Value, n *walk.Names) []byte {
	for m := range v.Members() {
		b = n.Any(b, m.ID, m.State, m.Incarnation, m.Heartbeat, m.Draining)
	}
	for p := range v.Partitions() {
		b = n.Any(b, p.ID, p.Owner, p.State, p.Token, p.Offered, p.Dropped, p.Next, p.Slot)
	}
	return b
}

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	switch e := e.(type) {
	case lease.Fetch:
		return n.Any(b, "fetch", e.Keys)
	case lease.Survey:
		heartbeats := slices.DeleteFunc(slices.Clone(e.Keys),
			func(key string) bool { return !strings.HasPrefix(key, protocol.NodePrefix) })
		return n.Any(b, "survey", heartbeats)
	case lease.Write:
		return document(n.Any(b, "write", e.Delete), e.Doc, n)
	case lease.ReadView:
		return n.Any(b, "read view")
	case lease.Show:
		return value(n.Any(b, "show"), e.Value, n)
	}
	return n.Any(b, e)
}

// namer appends to a key, of a state or of a document.
type namer struct {
	b []byte
	n *walk.Names
	s *lease.State
}

// key appends what decides a member's future besides its value: states with equal keys do the same from now on, as long
// as they have equal Params without a Poll and without a Longest.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s := of.(*lease.State)
	in := machine.Into(s)
	k := &namer{b, n, s}
	k.any(s.Own.Back != 0 && s.At < s.Own.Back.Add(4*s.Poll))
	k.any(s.Is, s.Life, s.Inc, s.Stop, s.Contact.Problem != "", s.Contact.Refuses, s.Own.Held,
		s.Own.Lapsed(s.At, s.Timing), s.At >= s.Own.Next, s.Own.Key,
		s.Own.Busy, s.Own.TTL, s.Own.Short != 0, s.Pace.Doubled, s.Reports, s.Behind(), s.At < s.Given.ValidUntil,
		k.due(in, "claimRest"), len(in.At("queue").List()))
	k.fields(in, "name.clear", "name.replaces", "look.hint", "look.leader.Holder", "look.election.Known",
		"look.board.Stop", "shuns")
	k.calls(in, "name", "name.fence", "look", "look.lock", "look.own", "look.view")
	k.any(machine.Get[heartbeat.Observation](in, "name.seen"),
		machine.Get[heartbeat.Observation](in, "look.election.Holder"))
	l := in.At("look")
	k.any(machine.Get[protocol.Instant](l, "election.Vacant") != 0,
		machine.Get[uint64](l, "board.View") > machine.Get[uint64](l, "shown"),
		machine.Get[cluster.Index](l, "board.Index") == machine.Get[cluster.Index](l, "index"),
		machine.Get[cluster.Index](l, "board.Specs") > machine.Get[cluster.Index](l, "specs"))
	k.number("term", machine.Get[uint64](l, "leader.Term"))
	k.version("lock/leader", machine.Get[store.Version](l, "lockAt"))
	k.version("lock/board", machine.Get[store.Version](l, "boardAt"))
	k.version("lock/leader", machine.Get[store.Version](l, "election.Seen.Version"))
	for _, m := range machine.Get[[]cluster.Member](l, "members") {
		k.any(m.ID, m.Heartbeat, m.State)
	}
	for _, f := range l.At("board.Free").List() {
		k.fields(f, "Partition", "Token", "First", "Only", "Slot")
		k.any(s.At.Sub(machine.Get[protocol.Instant](f, "since")) >= s.Params.TTL)
	}
	k.any("index")
	if given, taken := in.At("given").Number(), in.At("taken").Number(); given < taken {
		k.any(given, taken)
	}
	if holds := machine.Get[bool](in, "lead.holds"); holds {
		k.any(holds)
		k.lead(in.At("lead"))
	}
	for _, x := range in.At("tries").List() {
		k.try(x)
	}
	k.any("held")
	for _, h := range in.At("held").List() {
		k.fields(h, "partition", "specIndex")
		k.any(machine.Get[protocol.Instant](h, "missing") != 0, k.due(h, "next"))
		k.version("partition/"+protocol.Segment(machine.Get[cluster.PartitionID](h, "id"), ""),
			machine.Get[store.Version](h, "version"))
	}
	for _, g := range s.Given.Grants {
		k.any(g.Partition, g.Token, g.Attempt)
	}
	return value(k.b, s.Value(), n)
}

// any appends what decides: of the heartbeat of another member whether its owner is dead, and not when it was seen.
func (k *namer) any(xs ...any) {
	for _, x := range xs {
		if o, ok := x.(heartbeat.Observation); ok {
			k.any(o.Key, o.Known, o.Listed, o.Missing, k.s.Dead(o))
			k.version(o.Key, o.Version)
			continue
		}
		k.b = k.n.Any(k.b, x)
	}
}

func (k *namer) fields(in machine.Inside, paths ...string) {
	for _, path := range paths {
		k.any(in.At(path).Any())
	}
}

// due tells whether it is time.
func (k *namer) due(in machine.Inside, path string) bool {
	return k.s.At >= machine.Get[protocol.Instant](in, path)
}

// calls appends of kinds of calls what is under way, and what is due.
func (k *namer) calls(in machine.Inside, paths ...string) {
	for _, path := range paths {
		k.any(machine.Get[bool](in, path+".busy"), k.due(in, path+".next"))
	}
}

// version is that of a document. Here, and of numbers that are given to terms and views, it counts which are equal.
func (k *namer) version(key string, v store.Version) { k.alias("version "+key+"@", string(v)) }

func (k *namer) number(kind string, n uint64) { k.alias(kind+" ", strconv.FormatUint(n, 10)) }

// alias appends which of the texts of a kind it is; "" is none.
func (k *namer) alias(kind, text string) {
	if text == "" {
		k.b = append(k.b, 0)
		return
	}
	k.b = k.n.Alias(append(k.b, 1), kind+text)
}

func (k *namer) lead(in machine.Inside) {
	seen, now := machine.Get[*cluster.Value](in, "seen"), k.s.Value()
	told := seen != nil && seen.Index() == now.Index() && seen.Digest() == now.Digest()
	k.calls(in, "call", "show")
	k.number("term", machine.Get[uint64](in, "term"))
	k.any(machine.Get[bool](in, "hint"), machine.Get[bool](in, "ahead"), seen != nil, told)
	for _, o := range machine.Get[heartbeat.Observations](in, "beats") {
		k.any(o)
	}
	for _, h := range machine.Get[duty.Holds](in, "holdAt") {
		k.any(h.Incarnation, k.s.At.Sub(h.Since) >= k.s.Hold)
	}
	k.alias("layout ", machine.Get[string](in, "laid"))
	if k.removes(in) {
		k.read(in)
	}
	writes := in.At("writes").List()
	k.any("writes", len(writes))
	for _, w := range writes {
		k.any(machine.Get[uint64](w, "id") != 0, machine.Get[bool](w, "remove"))
		k.doc(machine.Get[store.Doc](w, "doc"))
	}
}

// removes tells whether a member is being taken out, or fenced: then the board may be written by what was read last.
func (k *namer) removes(lead machine.Inside) bool {
	for _, w := range lead.At("writes").List() {
		if strings.HasPrefix(machine.Get[store.Doc](w, "doc").Key, protocol.NodePrefix) {
			return true
		}
	}
	for _, t := range machine.Into(k.s).At("tries").List() {
		if _, leaves := machine.Get[cluster.Command](t, "command").(cluster.LeaveCluster); leaves {
			return true
		}
	}
	return false
}

// read appends what the leader has read, and written since.
func (k *namer) read(lead machine.Inside) {
	for _, d := range machine.Get[[]store.Doc](lead, "since") {
		k.version(d.Key, d.Version)
	}
	read := lead.At("read").Any()
	if reflect.ValueOf(read).IsNil() {
		return
	}
	for _, x := range machine.Into(read).At("docs").List() {
		d := machine.Get[store.Doc](x, "Doc")
		k.version(d.Key, d.Version)
	}
}

func (k *namer) try(in machine.Inside) {
	k.any("try", k.due(in, "next"))
	k.fields(in, "command", "busy", "request", "index", "taking", "again", "proved", "lost", "ask", "also")
	if machine.Get[bool](in, "lost") || machine.Get[bool](in, "busy") {
		k.doc(machine.Get[store.Doc](in, "put"))
	}
	for _, d := range machine.Get[[]store.Doc](in, "docs") {
		k.version(d.Key, d.Version)
	}
}

// document appends what a document says.
func document(b []byte, d store.Doc, n *walk.Names) []byte {
	k := &namer{b: b, n: n}
	k.doc(d)
	return k.b
}

// said is what a document of any kind says.
type said struct {
	Holder, State, Member             string
	Term, View                        uint64
	Index, Submitted, Specs, Spec, Of cluster.Index
	By                                cluster.Index
	Token                             cluster.Token
	Nodes                             []struct{ Member []byte }
	Job, Task                         []byte
	Said                              []json.RawMessage
	Free                              []struct {
		Partition cluster.PartitionID
		Token     cluster.Token
		First     cluster.MemberID
		Only      bool
		Slot      int64
	}
	Stop []struct {
		Partition cluster.PartitionID
		Token     cluster.Token
	}
}

func (k *namer) doc(d store.Doc) {
	if strings.HasPrefix(d.Key, "view/") {
		return // it is what the member that wrote it last has as its value
	}
	k.any(d.Key)
	k.version(d.Key, d.Version)
	var x said
	_ = json.Unmarshal(d.Value, &x) // what is no document says nothing
	if strings.HasPrefix(d.Key, protocol.NodePrefix) {
		k.any(x.State, x.Member)
		return
	}
	k.alias("value ", string(d.Value))
	k.number("term", x.Term)
	k.number("view", x.View)
	for _, n := range x.Nodes {
		m, _ := cluster.DecodeMember(n.Member)
		k.any(m)
	}
	j, _ := cluster.DecodeJob(x.Job)
	p, _ := cluster.DecodePartition(x.Task)
	k.any(x.Index, x.Holder, x.State, x.Specs, x.Free, x.Stop, x.Submitted, x.Token, x.By, x.Of, x.Spec, len(x.Said),
		j.State, p)
}
