package sim

import "slices"

// Kind is a kind of fault.
type Kind string

// The kinds. Those of the first group hit one member in one phase of its life; those of the second the store or the whole cluster.
const (
	SlowCall      Kind = "slow-call"      // a call takes up to twice its time-out
	LostRequest   Kind = "lost-request"   // a call never reaches the store
	LostReply     Kind = "lost-reply"     // it takes effect, its answer is lost
	Duplicate     Kind = "duplicate"      // a change takes effect twice
	LateWrite     Kind = "late-write"     // a change takes effect seconds or minutes after its caller gave up
	FailedCall    Kind = "failed-call"    // the store says that nothing was done
	LastAnswer    Kind = "last-answer"    // a renewal is stored at once and answered late, and with its answer the member is cut off
	LateLook      Kind = "late-look"      // a look at a pulse is done at once and answered late, no list comes before it, and then nothing reaches the pulse's owner for a while
	HalfCall      Kind = "half-call"      // a new pulse is begun, and the member is cut off before it is written, or before it hears of that
	Cut           Kind = "cut"            // nothing reaches the store, and no answer the member
	CutOut        Kind = "cut-out"        // nothing reaches the store
	CutIn         Kind = "cut-in"         // no answer reaches the member
	WatchLost     Kind = "watch-lost"     // a hint is lost
	WatchLate     Kind = "watch-late"     // a hint comes late
	PauseShort    Kind = "pause-short"    // SIGSTOP for less than the TTL
	PauseLong     Kind = "pause-long"     // SIGSTOP for longer than the TTL
	Crash         Kind = "crash"          // kill -9
	CrashBetween  Kind = "crash-between"  // kill -9 between two effects of one step
	ClockRate     Kind = "clock-rate"     // the clock's rate changes, within the bound
	WallJump      Kind = "wall-jump"      // the clock for people jumps
	StaleList     Kind = "stale-list"     // a listing shows what was
	LeaveInOrder  Kind = "leave"          // SIGTERM
	SecondStart   Kind = "second-start"   // another process starts under the same name
	SessionExpiry Kind = "session-expiry" // the store ends the session of a member that lives
	SlowWork      Kind = "slow-work"      // the supervisor gets no processor for a while: it hears of assignments late
	RunnerFails   Kind = "runner-fails"   // a run ends with an error, or panics
	RunnerLingers Kind = "runner-lingers" // a run ignores its cancel
	StoreAway     Kind = "store-away"     // the store answers nobody
	DiskFull      Kind = "disk-full"      // the store refuses changes
	Truncation    Kind = "truncation"     // a snapshot is taken and the log trimmed behind the back of slow readers
	Garbage       Kind = "garbage"        // an entry that is no entry
	Foreign       Kind = "foreign-entry"  // an entry of a writer nobody knows, with commands that are stale or nonsense
	Drain         Kind = "drain"          // an operator drains a member, and takes it back
	Hold          Kind = "hold"           // a member announces its restart and dies: its grants are held for a while
	KillJob       Kind = "kill-job"       // an operator kills a job; it is submitted anew
	UpdateJob     Kind = "update-job"     // an operator changes a job
	Split         Kind = "split"          // a partition is split
	TailLost      Kind = "tail-lost"      // the store loses acknowledged entries and writes others in their place
	NewerEntry    Kind = "newer-entry"    // a newer Rota writes an entry of a newer format
	RestartSame   Kind = "restart-same"   // a dead member starts again under its name
	RestartOther  Kind = "restart-other"  // and under another one
	Reorder       Kind = "reorder"        // an answer overtakes an earlier one
	AllAtOnce     Kind = "all-at-once"    // every member is killed at once
)

// The phases in which a fault may hit a member.
const (
	anyPhase     = ""
	clusterPhase = "cluster"
)

var (
	allPhases   = []string{"reading", "claim", "pulse", "join", "prepared", "joined", "confirm", "removed", "leaving"}
	writePhases = []string{"pulse", "join", "prepared", "joined", "confirm", "leaving"}
)

// kindInfo says where a kind can hit.
type kindInfo struct {
	kind   Kind
	weight int64 // how often it is drawn
	phases []string
	call   bool // waits for a call of the member
}

var kinds = []kindInfo{
	{SlowCall, 8, allPhases, true},
	{LostRequest, 8, allPhases, true},
	{LostReply, 8, allPhases, true},
	{Duplicate, 6, writePhases, true},
	{LateWrite, 5, writePhases, true},
	{FailedCall, 6, allPhases, true},
	{LastAnswer, 3, []string{"joined"}, true},
	{LateLook, 3, []string{"joined"}, true},
	{HalfCall, 3, []string{"pulse", "confirm"}, true},
	{Cut, 3, allPhases, false},
	{CutOut, 2, allPhases, false},
	{CutIn, 2, allPhases, false},
	{WatchLost, 4, []string{"prepared", "joined", "leaving"}, false},
	{WatchLate, 4, []string{"prepared", "joined", "leaving"}, false},
	{PauseShort, 5, allPhases, false},
	{PauseLong, 2, allPhases, false},
	{Crash, 3, allPhases, false},
	{CrashBetween, 3, allPhases, false},
	{ClockRate, 4, allPhases, false},
	{WallJump, 3, allPhases, false},
	{StaleList, 4, []string{"prepared", "joined"}, true},
	{LeaveInOrder, 2, []string{"reading", "claim", "pulse", "join", "prepared", "joined", "confirm", "removed"}, false},
	{SecondStart, 1, []string{"prepared", "joined", "confirm", "leaving"}, false},
	{SlowWork, 3, []string{"joined", "confirm", "leaving"}, false},
	{RunnerFails, 5, []string{"joined"}, false},
	{RunnerLingers, 4, []string{"joined", "confirm", "leaving"}, false}, // a removed member has lapsed, and so stopped, before
	{StoreAway, 1, []string{clusterPhase}, false},
	{DiskFull, 1, []string{clusterPhase}, false},
	{Truncation, 2, []string{clusterPhase}, false},
	{Garbage, 2, []string{clusterPhase}, false},
	{Foreign, 3, []string{clusterPhase}, false},
	{Drain, 1, []string{clusterPhase}, false},
	{Hold, 1, []string{clusterPhase}, false},
	{KillJob, 1, []string{clusterPhase}, false},
	{UpdateJob, 1, []string{clusterPhase}, false},
	{Split, 2, []string{clusterPhase}, false},
	{AllAtOnce, 1, []string{clusterPhase}, false},
	// What follows is not drawn one by one: it comes of other faults, or ends a run.
	{SessionExpiry, 0, []string{clusterPhase}, false},
	{TailLost, 0, []string{clusterPhase}, false},
	{NewerEntry, 0, []string{clusterPhase}, false},
	{RestartSame, 0, []string{clusterPhase}, false},
	{RestartOther, 0, []string{clusterPhase}, false},
	{Reorder, 0, []string{clusterPhase}, false},
}

// Fault is one line of a run's script.
type Fault struct {
	At    int64 // true time, ns, from which on it waits for its phase
	Kind  Kind
	Phase string // of the member that it hits; "" for any
	Draw  uint64 // seed of what else it needs: which member, how long
}

// Pair is a fault in a phase.
type Pair struct {
	Kind  Kind
	Phase string
}

// Pairs are all that the simulator must reach, sorted as the kinds are.
func Pairs() []Pair {
	var out []Pair
	for _, k := range kinds {
		for _, p := range k.phases {
			out = append(out, Pair{k.kind, p})
		}
	}
	return out
}

func infoOf(k Kind) kindInfo {
	return kinds[slices.IndexFunc(kinds, func(i kindInfo) bool { return i.kind == k })]
}
