package machine

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// Kind is a kind of fault.
type Kind string

// The kinds. Those of the first group hit one member in one phase of its life; those of the second the store or the
// whole cluster.
const (
	SlowCall        Kind = "slow-call"         // a call takes up to twice its time-out
	LostRequest     Kind = "lost-request"      // a call never reaches the store
	LostReply       Kind = "lost-reply"        // it takes effect, its answer is lost
	Duplicate       Kind = "duplicate"         // a change takes effect twice
	LateWrite       Kind = "late-write"        // a change takes effect seconds or minutes after its caller gave up
	FailedCall      Kind = "failed-call"       // the store says that nothing was done
	LastAnswer      Kind = "last-answer"       // a renewal is stored at once and answered late, and with its answer the member is cut off
	LateLook        Kind = "late-look"         // a look at a heartbeat is done at once and answered late, no list comes before it, and then nothing reaches the heartbeat's owner for a while
	HalfCall        Kind = "half-call"         // a new heartbeat is begun, and the member is cut off before it is written, or before it hears of that
	Cut             Kind = "cut"               // nothing reaches the store, and no answer the member
	CutOut          Kind = "cut-out"           // nothing reaches the store
	CutIn           Kind = "cut-in"            // no answer reaches the member
	WatchLost       Kind = "watch-lost"        // a hint is lost
	WatchLate       Kind = "watch-late"        // a hint comes late
	PauseShort      Kind = "pause-short"       // SIGSTOP for less than the TTL
	PauseLong       Kind = "pause-long"        // SIGSTOP for longer than the TTL
	Crash           Kind = "crash"             // kill -9
	CrashBetween    Kind = "crash-between"     // kill -9 between two effects of one step
	ClockRate       Kind = "clock-rate"        // the clock's rate changes, within the bound
	WallJump        Kind = "wall-jump"         // the clock for people jumps
	StaleList       Kind = "stale-list"        // a listing shows what was
	DirtyRead       Kind = "dirty-read"        // a copy of the store that was cut off answers reads: with what was, and with what it never acknowledges; for a while also the calls after it
	TornCall        Kind = "torn-call"         // between the requests of a call that reads, others go on
	LateIndex       Kind = "late-index"        // a write takes an index and is answered late, and with its answer the member is cut off: it uses the index long after
	LeaveInOrder    Kind = "leave"             // SIGTERM
	SecondStart     Kind = "second-start"      // another process starts under the same name
	SessionExpiry   Kind = "session-expiry"    // the store ends the session of a member that lives
	SlowWork        Kind = "slow-work"         // the supervisor gets no processor for a while: it hears of assignments late
	RunnerFails     Kind = "runner-fails"      // a run ends with an error, or panics
	RunnerLingers   Kind = "runner-lingers"    // a run ignores its cancel
	StoreAway       Kind = "store-away"        // the store answers nobody
	DiskFull        Kind = "disk-full"         // the store refuses changes
	Truncation      Kind = "truncation"        // a snapshot is taken and the log trimmed behind the back of slow readers
	Garbage         Kind = "garbage"           // an entry that is no entry
	Foreign         Kind = "foreign-entry"     // an entry of a writer nobody knows, with commands that are stale or nonsense
	Drain           Kind = "drain"             // an operator drains a member, and takes it back
	Hold            Kind = "hold"              // a member announces its restart and dies: its grants are held for a while
	KillJob         Kind = "kill-job"          // an operator kills a job; it is resubmitted
	UpdateJob       Kind = "update-job"        // an operator changes a job
	Split           Kind = "split"             // a partition is split
	TailLost        Kind = "tail-lost"         // the store loses acknowledged entries and writes others in their place
	NewerEntry      Kind = "newer-entry"       // a newer Rota writes an entry of a newer format
	RestartSame     Kind = "restart-same"      // a dead member starts again under its name
	RestartOther    Kind = "restart-other"     // and under another one
	Reorder         Kind = "reorder"           // an answer overtakes an earlier one
	CrashAfterWrite Kind = "crash-after-write" // kill -9 when one of several writes has reached the store
	TwoLeaders      Kind = "two-leaders"       // two members take themselves for the leader at the same instant
	GroupFails      Kind = "group-fails"       // the server that keeps the group dies: what was no fact is forgotten
	GroupForgets    Kind = "group-forgets"     // nobody is in the group for so long that it begins again
	Storm           Kind = "rebalance-storm"   // strangers join the group, one after the other
	AllAtOnce       Kind = "all-at-once"       // every member is killed at once
	GuardianLate    Kind = "guardian-late"     // kill -9, and the member's guardian gets no processor for a while
	GuardianDoubled Kind = "guardian-doubled"  // kill -9, and what the guardian asks of the store is done again, seconds or minutes later
	GuardianLost    Kind = "guardian-lost"     // the guardian is killed; another one is started a second later, unless its member dies too
	GuardianCutOff  Kind = "guardian-cut-off"  // the line between a member that lives and its guardian is closed: later there are two
	GuardianEnds    Kind = "guardian-ends"     // a guardian ends the session of its member, which is dead
	GuardianEarlier Kind = "guardian-earlier"  // it does so when a process of the same name has started
)

// Cluster is the phase of a fault that meets the store, or the cluster as a whole.
const Cluster = "cluster"

// Fault is a row of a machine's table: a kind, and where it can hit.
type Fault struct {
	Kind   Kind
	Weight int64 // how often it is drawn; 0: it comes of other faults, or ends a run
	Phases []string
	// Suits tells whether the fault may meet a call; nil where it does not wait for one.
	Suits func(Call) bool
}

// Info is the row of a kind.
func (m *Machine) Info(k Kind) Fault {
	return m.Faults[slices.IndexFunc(m.Faults, func(f Fault) bool { return f.Kind == k })]
}

// Has tells whether a kind can meet this machine.
func (m *Machine) Has(k Kind) bool {
	return slices.ContainsFunc(m.Faults, func(f Fault) bool { return f.Kind == k })
}

// Pair is a fault in a phase.
type Pair struct {
	Kind  Kind
	Phase string
}

// Pairs are all that the simulator must reach, in the order of the table.
func (m *Machine) Pairs() []Pair {
	var out []Pair
	for _, f := range m.Faults {
		for _, p := range f.Phases {
			out = append(out, Pair{f.Kind, p})
		}
	}
	return out
}

//go:embed faults.txt
var faults string

// Table is the table of faults of a protocol: faults.txt has it. A kind that cannot happen to it is left out. A row
// that says what nobody knows is a mistake of ours: it panics.
func Table(protocol string) (table []Fault) {
	phases, known := map[string][]string{Cluster: {Cluster}}, map[string]bool{Cluster: true}
	var rows [][]string
	for line := range strings.Lines(faults) {
		switch f := strings.Fields(line); {
		case len(f) > 0 && f[0] == "fault":
			rows = append(rows, f)
		case len(f) > 2 && f[0] != "#":
			if known[f[1]] = true; f[0] == protocol {
				phases[f[1]] = f[2:]
			}
		}
	}
	for _, f := range rows {
		weight, err := strconv.ParseInt(f[2], 10, 64)
		suit, ok := suits[f[4]]
		if err != nil || !known[f[3]] || !ok && f[4] != "-" {
			panic("machine: faults.txt: " + strings.Join(f, " "))
		}
		if in := phases[f[3]]; len(in) > 0 {
			table = append(table, Fault{Kind: Kind(f[1]), Weight: weight, Phases: in, Suits: suit})
		}
	}
	return table
}

// suits are the words for the calls that a fault meets.
// read-only: a table.
var suits = map[string]func(Call) bool{
	"any":   func(Call) bool { return true },
	"write": Call.changes,
	"read":  func(c Call) bool { return !c.changes() },
	"reads": func(c Call) bool { return c.Reads },
	"renew": func(c Call) bool { return c.Renew },
	"begin": func(c Call) bool { return c.Begin },
	"look":  func(c Call) bool { return c.Looks },
	"list":  func(c Call) bool { return c.List },
	"part":  func(c Call) bool { return c.Part },
	"take":  func(c Call) bool { return c.Takes },
}

// Call is a call of the store. The zero value is a read.
type Call struct {
	Write bool // it changes the store, and may be done twice, or late
	Renew bool // it is the member's sign of life
	Begin bool // it begins a new one, in several requests
	List  bool
	Part  bool             // it is one of several writes that belong together
	Reads bool             // it reads, in several requests, and does nothing else
	Takes bool             // it takes an index, under which a later call writes
	Keep  bool             // it saves a snapshot
	Group bool             // it goes to the group, which may let it wait for others
	Looks bool             // it looks whether somebody lives
	Whom  cluster.MemberID // does it look at
}

// Shared is the call that an effect asks for which all protocols have.
func Shared(e Effect) (Call, bool) {
	switch e := e.(type) {
	case member.ReadLog, member.ReadSnapshot, member.CheckLog:
		return Call{}, true
	case member.Append:
		return Call{Write: true}, true
	case member.Renew:
		return Call{Renew: true, Begin: e.Create}, true
	case member.SaveSnapshot:
		return Call{Keep: true}, true
	}
	return Call{}, false
}

// changes tells whether the call changes the store.
func (c Call) changes() bool { return c.Write || c.Renew }

// Look is the call that reads a document: below the prefix of heartbeats it looks whether somebody lives.
func Look(key, prefix string) Call {
	id, heartbeat := strings.CutPrefix(key, prefix)
	if !heartbeat {
		return Call{}
	}
	id, _, _ = strings.Cut(id, "/")
	return Call{Looks: true, Whom: cluster.MemberID(id)}
}
