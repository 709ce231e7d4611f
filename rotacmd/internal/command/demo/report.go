package demo

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// The bounds that the demonstration holds itself to, in ms.
const (
	MaxCrashMS   = 500
	MaxSuspendMS = 5000
	MaxLeaveMS   = 200
	// MaxPolledLeaveMS is that of a store that tells nobody of a change: members look every 200 ms.
	MaxPolledLeaveMS = 500
)

// Options say how it is played.
type Options struct {
	// Protocol is how the members agree. It is required.
	Protocol protocol.Protocol
	// NoSessions lets members use heartbeats alone, as on stores that do not notice the death of a process: a crash is
	// then seen as late as a suspension.
	NoSessions bool
	// Server is where the members meet; nil stands for a fresh directory.
	Server *Server
}

// Server is an empty place in a store.
type Server struct {
	Store string // what members get as --store
	Name  string // the same, without secrets
	// Silent says that the store ends a session only when its owner was silent: a crash is then seen as late as a
	// suspension.
	Silent bool
	// Polled says that the store tells nobody of a change.
	Polled bool
	// Open opens it for looking. It fails while the place is empty.
	Open func(ctx context.Context) (store.Full, error)
	// Inside says how members run inside this process; nil for processes of their own.
	Inside *Inside
}

func (o Options) inside() bool { return o.Server != nil && o.Server.Inside != nil }

func (o Options) silent() bool { return o.NoSessions || o.Server != nil && o.Server.Silent }

func (o Options) maxCrashMS() int64 {
	if o.silent() {
		return MaxSuspendMS
	}
	return MaxCrashMS
}

func (o Options) maxLeaveMS() int64 {
	if o.Server != nil && o.Server.Polled {
		return MaxPolledLeaveMS
	}
	return MaxLeaveMS
}

// Report is the outcome.
type Report struct {
	Members     int   `json:"members"`
	Tasks       int   `json:"tasks"`
	Moves       int   `json:"moves"`
	FewestMoves int   `json:"fewest_moves"` // that could do
	CrashGapMS  int64 `json:"crash_gap_ms"` // longest, from the crash to the start elsewhere
	// SuspendGapMS is the longest from the instant at which the suspended member ceased to act to the start elsewhere.
	// A process ceases with SIGSTOP, a member inside this process goes on until it stops its tasks itself.
	SuspendGapMS    int64 `json:"suspend_gap_ms"`
	SuspendSilentMS int64 `json:"suspend_silent_ms"` // longest, from the suspension to the start elsewhere
	LeaveGapMS      int64 `json:"leave_gap_ms"`      // longest, from stop to start
	Overlaps        int   `json:"overlaps"`
	Lost            int   `json:"lost"` // tasks that run nowhere at the end
	OK              bool  `json:"ok"`
}

// Act is what was done to the cluster, in order.
type Act struct {
	Kind   Kind
	Member string
	AtNS   int64
	Fewest int // moves that it needs at least
}

// Kind is a kind of act.
type Kind string

// The kinds of acts.
const (
	Crash   Kind = "crash"
	Suspend Kind = "suspend"
	Leave   Kind = "leave"
	Join    Kind = "join"
	End     Kind = "end"
)

// Judge measures what the acts led to. Acts are in order and the last one is End; tasks are the partitions that should
// run.
func Judge(o Options, members int, tasks []string, acts []Act, lines []node.WitnessLine) Report {
	r := Report{Members: members, Tasks: len(tasks)}
	mine := map[string]bool{}
	for _, t := range tasks {
		mine[t] = true
	}
	var runs, did []node.WitnessLine
	for _, l := range lines {
		switch {
		case !mine[l.Partition]:
		case l.Event == "act":
			did = append(did, l)
		default:
			runs = append(runs, l)
		}
	}
	intervals := Intervals(runs, o.cuts(acts))
	r.Overlaps = Overlaps(o.actual(intervals, runs), did)
	r.Lost = len(tasks) - len(Running(intervals))
	moves := Moves(intervals)
	for i, a := range acts[:max(0, len(acts)-1)] {
		r.add(a, Between(moves, a.AtNS, acts[i+1].AtNS))
	}
	r.OK = r.CrashGapMS <= o.maxCrashMS() && max(r.SuspendGapMS, r.SuspendSilentMS) <= MaxSuspendMS &&
		r.LeaveGapMS <= o.maxLeaveMS() &&
		r.Overlaps == 0 && r.Lost == 0 && r.Moves == r.FewestMoves
	return r
}

// actual are the runs with their real ends. What a process says later than a cut is only when it found out; inside this
// process tasks go on until they are stopped, so that there the stop lines alone count.
func (o Options) actual(cut []Interval, lines []node.WitnessLine) []Interval {
	if o.inside() {
		return Intervals(lines, nil)
	}
	return cut
}

// cuts are the instants from which on gaps count. The tasks of a suspended member inside this process go on, so there
// it is their stop.
func (o Options) cuts(acts []Act) []Cut {
	var cuts []Cut
	for _, a := range acts {
		if a.Kind == Crash || a.Kind == Suspend && !o.inside() {
			cuts = append(cuts, Cut{a.Member, a.AtNS})
		}
	}
	return cuts
}

func (r *Report) add(a Act, moves []Move) {
	r.Moves += len(moves)
	r.FewestMoves += a.Fewest
	gap := LongestGapMS(moves)
	switch a.Kind {
	case Crash:
		r.CrashGapMS = max(r.CrashGapMS, gap)
	case Suspend:
		r.SuspendGapMS = max(r.SuspendGapMS, gap)
		r.SuspendSilentMS = max(r.SuspendSilentMS, longestSilenceMS(a, moves))
	case Leave:
		r.LeaveGapMS = max(r.LeaveGapMS, gap)
	}
}

// String is the report on one line.
func (r Report) String() string {
	fewest := "the fewest possible"
	if r.Moves != r.FewestMoves {
		fewest = fmt.Sprintf("%d would have done", r.FewestMoves)
	}
	verdict := "ok"
	if !r.OK {
		verdict = "NOT OK"
	}
	suspension := Millis(r.SuspendGapMS)
	if r.SuspendSilentMS > r.SuspendGapMS {
		suspension += " (silent " + Millis(r.SuspendSilentMS) + ")"
	}
	return fmt.Sprintf("%d tasks · %d moves (%s) · crash %s · suspension %s · leave %s · overlaps %d · lost %d    %s",
		r.Tasks, r.Moves, fewest, Millis(r.CrashGapMS), suspension, Millis(r.LeaveGapMS), r.Overlaps, r.Lost, verdict)
}

// Millis is a time as people say it: 12 ms, 4.2 s.
func Millis(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

// Worst joins the outcomes of several demonstrations: counts are added, gaps are the longest, and it is ok if all were.
func Worst(reports []Report) Report {
	w := Report{OK: len(reports) > 0}
	for _, r := range reports {
		w.Members, w.Tasks = r.Members, r.Tasks
		w.Moves += r.Moves
		w.FewestMoves += r.FewestMoves
		w.CrashGapMS = max(w.CrashGapMS, r.CrashGapMS)
		w.SuspendGapMS = max(w.SuspendGapMS, r.SuspendGapMS)
		w.SuspendSilentMS = max(w.SuspendSilentMS, r.SuspendSilentMS)
		w.LeaveGapMS = max(w.LeaveGapMS, r.LeaveGapMS)
		w.Overlaps += r.Overlaps
		w.Lost += r.Lost
		w.OK = w.OK && r.OK
	}
	return w
}
