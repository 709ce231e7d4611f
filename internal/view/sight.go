package view

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// Sight is a cluster as it was seen once: its value, and what a [Lookout] saw beside it, which corrects what the value
// alone says: who is alive, and what fails.
type Sight struct {
	v     cluster.Value
	now   time.Time
	beats map[cluster.MemberID]Heartbeat
	runs  map[cluster.PartitionID]failingRun
	// Of runs that fail and did not fit into their member's document.
	moreFailing, moreBackingOff int
}

// failingRun is one that its member says to fail, at a time by that member's clock.
type failingRun struct {
	node.FailingRun
	asOfMS int64
}

// Of is a value alone: nothing is known of heartbeats and failures.
func Of(v cluster.Value) Sight { return Sight{v: v} }

// The states that a [Sight] gives to tasks that the value has as running.
const (
	OwnerSilent = "owner silent" // its owner is probably dead
	Failing     = node.StateFailing
	BackingOff  = node.StateBackingOff
)

// add takes in a member's document. What it says of runs under older tokens is past.
func (s *Sight) add(f node.Failing) {
	m := cluster.MemberID(f.Member)
	if _, ok := s.v.Member(m); !ok || s.beats[m].Lost() {
		return
	}
	failing, backing := 0, 0
	for _, r := range f.Runs {
		switch r.State {
		case Failing:
			failing++
		case BackingOff:
			backing++
		default:
			continue
		}
		if p, ok := s.v.Partition(r.Partition); ok && p.Owner == m && p.Token == r.Token &&
			p.State == cluster.PartitionGranted {
			s.runs[r.Partition] = failingRun{r, f.AtMS}
		}
	}
	if len(f.Runs) >= node.MaxFailing {
		s.moreFailing += max(f.Failing-failing, 0)
		s.moreBackingOff += max(f.BackingOff-backing, 0)
	}
}

// Value is what was looked at.
func (s Sight) Value() cluster.Value { return s.v }

// Heartbeats yields those of all members that have one.
func (s Sight) Heartbeats() iter.Seq2[cluster.MemberID, Heartbeat] { return maps.All(s.beats) }

// Unguarded are the members without a guardian that need one, sorted.
func (s Sight) Unguarded() (out []string) {
	for m, h := range s.beats {
		if h.Unguarded() {
			out = append(out, string(m))
		}
	}
	slices.Sort(out)
	return out
}

// Unlisted is how many tasks fail or back off that are shown as running, because their member's document has no room
// for them.
func (s Sight) Unlisted() int { return s.moreFailing + s.moreBackingOff }

// state is the state of a partition as it was seen.
func (s Sight) state(p cluster.Partition) string {
	was := stateOf(s.v, p)
	if was != Running && was != Moving {
		return was
	}
	if s.beats[p.Owner].Lost() {
		return OwnerSilent
	}
	if r, ok := s.runs[p.ID]; ok && r.Token == p.Token && was == Running {
		return r.State
	}
	return was
}

// silence explains a task whose owner is probably dead.
func (s Sight) silence(m cluster.MemberID) *Reason {
	return &Reason{Rule: "owner", Text: string(m) + ": " + s.beats[m].Text(s.now),
		Try: "start a member; where others live, they take over after its TTL"}
}

// FailureText says how often a task has failed, and why the last time; "" for one that has not.
func (t *Task) FailureText() string {
	var parts []string
	switch {
	case t.State == Failing && t.Rounds > 0:
		parts = append(parts, fmt.Sprintf("%d of %d rounds", t.Failures, t.Rounds))
	case t.Failures > 1:
		parts = append(parts, fmt.Sprintf("failed %d times", t.Failures))
	case t.Failures == 1:
		parts = append(parts, "failed once")
	}
	if t.Message != "" {
		parts = append(parts, "last: "+t.Message)
	}
	return strings.Join(parts, ", ")
}

// Viewer looks at a cluster: at a value, and at what stands in the store beside it. Its methods may be called from any
// goroutine.
type Viewer struct {
	Lookout  *Lookout        // nil: the value alone is shown
	Journal  journal.Journal // nil: neither moves nor malformed definitions are known
	Queue    store.Queue     // nil: there are no flows
	Store    string          // for people, without secrets
	Protocol string          // its name, for people
}

// Look looks once at what is beside a value.
func (w Viewer) Look(ctx context.Context, v cluster.Value) (Sight, error) {
	if w.Lookout == nil {
		return Of(v), nil
	}
	return w.Lookout.Look(ctx, v)
}

// mostRead is how many records of the journal are read for a status.
const mostRead = 10_000

// Status sums up what was seen, with what the journal and the sources say of it.
func (w Viewer) Status(ctx context.Context, s Sight) (Status, error) {
	st := s.Status()
	st.Store, st.Protocol = w.Store, w.Protocol
	var copies []*directory.Copies
	var err error
	if w.Lookout != nil {
		if copies, err = w.copies(ctx, s.v); err != nil {
			return Status{}, err
		}
		differ := sourcesThatDiffer(s.v, copies)
		st.Differing = len(differ)
		st.Problems = slices.Insert(st.Problems, 0, differ...)
		shown := min(len(st.Problems), MaxProblems)
		st.More += len(st.Problems) - shown
		st.Problems = st.Problems[:shown]
	}
	if w.Journal != nil {
		records, err := w.Journal.Read(ctx, journal.Query{Limit: mostRead})
		if err != nil {
			return Status{}, fmt.Errorf("read the journal: %w", err)
		}
		if w.Lookout != nil {
			records = asRead(copies, records)
		}
		st.addMalformed(s.v, records)
		st.Moves = movesOf(since(records, time.Now().Add(-time.Hour)))
	}
	if w.Queue != nil {
		st.addDeadLetters(ctx, w.Queue, s.v)
	}
	return st, nil
}

func since(records []journal.Record, t time.Time) []journal.Record {
	for i, r := range records {
		if r.AtMS >= t.UnixMilli() {
			return records[i:]
		}
	}
	return nil
}

// SourcesDiffer is the state of a problem: the copies of a source are not alike.
const SourcesDiffer = "sources differ"

func sourcesThatDiffer(v cluster.Value, copies []*directory.Copies) (out []Problem) {
	for i, name := range directory.Sources(v) {
		differ := copies[i].Differ()
		if differ == "" {
			continue
		}
		job := directory.Job(name).Job
		if p, ok := v.Partition(cluster.PartitionID(job)); ok && p.Owner != "" {
			differ += fmt.Sprintf(" (the files of %s count)", p.Owner)
		}
		out = append(out, Problem{
			State: SourcesDiffer, Task: string(job), Text: differ,
			Try: "make the directories alike, or end what no directory has: rota source prune " + name,
		})
	}
	return out
}

// copies are what members have of each of [directory.Sources].
func (w Viewer) copies(ctx context.Context, v cluster.Value) (out []*directory.Copies, err error) {
	for _, name := range directory.Sources(v) {
		inventories, err := directory.Inventories(ctx, w.Lookout.docs, name)
		if err != nil {
			return nil, err
		}
		out = append(out, directory.CopiesOf(v, name, inventories))
	}
	return out, nil
}

// asRead returns the records as they count: a fault of what no member reads any more is over.
func asRead(copies []*directory.Copies, records []journal.Record) []journal.Record {
	out := slices.Clone(records)
	for i, r := range out {
		reads := func(c *directory.Copies) bool { return ofDirectory(r) || c.Reads(r) }
		if r.Kind == journal.Malformed && !slices.ContainsFunc(copies, reads) {
			out[i].Kind = journal.Recovered
		}
	}
	return out
}
