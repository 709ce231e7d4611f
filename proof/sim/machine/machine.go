// Package machine is the contract between the protocols and the programs that try them out: the simulator and the
// exhaustive checker.
//
// Neither the simulator (package sim) nor the checker (package walk) names a protocol. Each protocol is a [Machine]:
// its own State, Step and Caller, and tables of its phases, of the faults that can meet it in them, and of its bounds.
// Every folder in here is one protocol.
//
// A machine translates and decides nothing. One that says the wrong thing about an effect hides faults: the mutants of
// its protocol show that it does not.
package machine

import (
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is one protocol. Its functions are pure, but for those of a [Caller].
type Machine struct {
	Name string
	// Joined lists the phases of a member that takes part: it may own partitions and takes requests.
	Joined []string
	// Faults are what can happen, and in which phases.
	Faults []Fault
	// Start is a member that has just started.
	Start func(Start) State
	// Phase is how far a member has come: as one that leads also how far it is as a leader.
	Phase func(State) string
	// Step takes one event in, and changes the state.
	Step func(State, Event) []Effect
	// Call tells whether an effect is a call of the store, and what it asks for.
	Call func(Effect) (Call, bool)
	// Caller makes a member's calls, on a handle of its own.
	Caller func(Start, Store) Caller
	// Watches are the prefixes of the documents whose changes a member is told of, and whether it is told that the log
	// has grown.
	Watches func(State) (prefixes []string, log bool)
	// Fold and Truth are the truth: the value behind a new entry of the log, and behind a change of documents, in one
	// world. Nil says that neither means anything.
	Fold  func(before cluster.Value, r store.Record) (Change, error)
	Truth func() Truth
	// Group: members are those of a group, which the store has then. There are no pools of slots.
	Group bool
	// Encode is an entry as the log has it.
	Encode func(cluster.Entry) []byte
	// Stray is a document that is left behind and belongs to nobody, "" for none.
	Stray func(v *cluster.Value, docs []store.Doc) string
	// Looks, Silence: see Gap. Recovery is for how long a partition may have no owner after many failures.
	Looks, Silence, Recovery Bound
	// Leads is the phase of a member that takes itself for the leader, "" for none. Two at the same instant are counted
	// as a fault.
	Leads string
}

// Told are the prefixes of which a member is told when a document changes, or, for "", the log: that has the prefix "".
func (m *Machine) Told(s State, key string) (told []string) {
	prefixes, log := m.Watches(s)
	if key == "" && log {
		return []string{""}
	}
	for _, p := range prefixes {
		if key != "" && strings.HasPrefix(key, p) {
			told = append(told, p)
		}
	}
	return told
}

// Event and Effect are those that all protocols share, and the protocol's own. Caller makes store calls and turns their
// answers into events.
type (
	Event  = member.Event
	Effect = member.Effect
	Caller = shell.Caller
)

// Truth is the value after a change of one document.
type Truth func(before cluster.Value, docs func() []store.Doc, key string) Change

// State is all that one member knows.
type State interface {
	Value() cluster.Value
	Now() protocol.Instant
	// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
	Tenure() (cluster.Incarnation, protocol.Instant)
	// TTL is for how long others wait when the member is silent.
	StatedTTL() time.Duration
}

// Store is a member's connection to the store.
type Store interface {
	store.Full
	store.Sessions
}

// Times are what bounds depend on.
type Times struct {
	TTL, Poll time.Duration
	Slowest   time.Duration // round trip
	Vanishes  bool          // what a killed process held goes at once
}

// Bound is a time as thousandths of the TTL, polls, and round trips.
type Bound struct{ TTL, Polls, Trips int64 }

// Of is how long it is.
func (b Bound) Of(t Times) time.Duration {
	return time.Duration(b.TTL)*t.TTL/1000 + time.Duration(b.Polls)*t.Poll + time.Duration(b.Trips)*t.Slowest
}

// Gap is for how long a partition may have no owner after one failure of this kind, by clocks that are right: the time
// for looks and calls, and, unless the one that fails says so itself or the kernel does, that of the silence before. A
// group does not hear of it from the kernel.
func (m *Machine) Gap(t Times, k Kind) time.Duration {
	if k == LeaveInOrder || k == Crash && t.Vanishes && !m.Group {
		return m.Looks.Of(t)
	}
	return m.Looks.Of(t) + m.Silence.Of(t)
}

// Change is what an entry or a document did to the value.
type Change struct {
	After cluster.Value
	// Entry is what was applied, and how; nil where the value was assembled, or nothing was applied.
	Entry *cluster.Entry
	Done  cluster.Applied
}

// Steps makes a protocol's step function neutral.
func Steps[S any](step func(*S, Event) []Effect) func(State, Event) []Effect {
	return func(s State, ev Event) []Effect { return step(any(s).(*S), ev) }
}

// Copy is a state that stays as it is when steps change the other.
func Copy(s State) State {
	c := reflect.New(reflect.TypeOf(s).Elem())
	c.Elem().Set(reflect.ValueOf(s).Elem())
	return c.Interface().(State)
}

// Stamped is an event with the instant at which it reached its member: its field Now.
func Stamped(ev Event, now protocol.Instant) Event {
	was := reflect.ValueOf(ev)
	if was.Kind() != reflect.Struct || was.NumField() == 0 || was.Type().Field(0).Name != "Now" {
		return ev
	}
	next := reflect.New(was.Type()).Elem()
	next.Set(was)
	next.Field(0).SetInt(int64(now))
	return next.Interface().(Event)
}

// StrayHeartbeat is a heartbeat of nobody, "" for none.
func StrayHeartbeat(v *cluster.Value, docs []store.Doc) string {
	owned := map[string]bool{}
	for m := range v.Members() {
		owned[m.Heartbeat] = true
	}
	for _, d := range docs {
		if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) && !owned[d.Key] {
			return d.Key
		}
	}
	return ""
}

// FoldLog is the truth of protocols whose log's entries make the value.
func FoldLog(before cluster.Value, r store.Record) (Change, error) {
	e, ok, err := before.Decode(cluster.Index(r.Index), r.Data)
	switch {
	case err != nil:
		return Change{After: before}, err
	case !ok:
		return Change{After: before.Skip(cluster.Index(r.Index), r.Data)}, nil
	}
	after, done := before.Apply(e)
	return Change{After: after, Entry: &e, Done: done}, nil
}

// Start is one start of one member.
type Start struct {
	member.Params
	Sessions bool           // a document may go with its process
	Guard    protocol.Guard // nil for none
	Now      func() protocol.Instant
	Wall     func() time.Time
}

// BeatCaller is what all protocols' callers are made of.
func BeatCaller(s Start, st Store) shell.BeatCaller {
	return shell.BeatCaller{Writer: beat.Writer{
		Member: s.Member, Store: st, TTL: s.TTL, NoSessions: !s.Sessions, Guard: s.Guard,
		Logger: slog.New(slog.DiscardHandler), Now: s.Now, Wall: s.Wall,
	}}
}

// LogCaller is the same with the log.
func LogCaller(s Start, st Store) *shell.LogCaller {
	return &shell.LogCaller{BeatCaller: BeatCaller(s, st), Log: st}
}
