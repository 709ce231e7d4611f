package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Past reads earlier states of the cluster from the entries that its log still holds. Its methods may be called from
// any goroutine.
type Past struct {
	Historian protocol.Historian
	Store     protocol.Store
}

// Point is a position of the log.
type Point struct {
	Index  uint64 `json:"index"`
	AtMS   int64  `json:"at_ms,omitempty"`  // by the clock of its writer; 0 where the entry is not kept
	Writer string `json:"writer,omitempty"` // of the entry
}

// Moment is the state of the cluster at a position of the log, not its present state.
type Moment struct {
	Point
	Oldest  Point    `json:"oldest"` // how far back the log goes
	Newest  Point    `json:"newest"`
	SkewMS  int64    `json:"skew_ms"` // most by which an entry is earlier, by its writer's clock, than one before it: times are no better than that
	Digest  string   `json:"digest"`
	Total   int      `json:"total"` // tasks
	Members []Member `json:"members"`
	Tasks   []Task   `json:"tasks"` // sorted by name; the API shows the first of them
	Jobs    []string `json:"jobs"`  // names of those that clients submitted
}

// Difference is what changed between two positions of the log.
type Difference struct {
	From    Point          `json:"from"`
	To      Point          `json:"to"`
	Members []MemberChange `json:"members"`
	Jobs    []JobChange    `json:"jobs"`
	Tasks   []TaskChange   `json:"tasks"`
}

// MemberChange is a member before and after; nil where there was none.
type MemberChange struct {
	Member string  `json:"member"`
	Before *Member `json:"before,omitempty"`
	After  *Member `json:"after,omitempty"`
}

// JobChange is the state of a job before and after; "" where there was none.
type JobChange struct {
	Job    string `json:"job"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// TaskChange is a task before and after; nil where there was none.
type TaskChange struct {
	Task   string `json:"task"`
	Before *Task  `json:"before,omitempty"`
	After  *Task  `json:"after,omitempty"`
}

// OutOfLogError says that the log does not hold a position, and what it holds.
type OutOfLogError struct {
	Wanted         cluster.Index
	Oldest, Newest Point
}

// Error implements error.
func (e *OutOfLogError) Error() string {
	return fmt.Sprintf("the log does not hold index %d: it goes from %d to %d", e.Wanted, e.Oldest.Index,
		e.Newest.Index)
}

// ErrEmpty is that of a place where nothing was written yet.
var ErrEmpty = errors.New("the log is empty")

// At returns what the cluster was after an entry.
func (p *Past) At(ctx context.Context, index cluster.Index) (Moment, error) {
	s, err := p.scan(ctx, func(x state) bool { return x.Index <= uint64(index) })
	if err == nil {
		err = s.holds(index)
	}
	if err != nil {
		return Moment{}, err
	}
	s.chosen.Index = uint64(index) // also where a record of the log is no entry
	return s.moment(), nil
}

// AsOf returns what the cluster was at an instant, in ms since 1970. Each entry has the time of its writer's clock, and
// clocks differ: it is the position with the fewest entries on the wrong side of it, so that a clock that is far off
// does not decide.
func (p *Past) AsOf(ctx context.Context, atMS int64) (Moment, error) {
	score, best := 0, 0 // entries not later than the instant, less those that are later
	s, err := p.scan(ctx, func(x state) bool {
		if x.AtMS > atMS {
			score--
			return false
		}
		score++
		if score < best {
			return false
		}
		best = score
		return true
	})
	if err != nil {
		return Moment{}, err
	}
	return s.moment(), nil
}

// Diff returns what changed between two positions.
func (p *Past) Diff(ctx context.Context, from, to cluster.Index) (Difference, error) {
	if from > to {
		return Difference{}, fmt.Errorf("index %d comes after %d", from, to)
	}
	var before *state
	s, err := p.scan(ctx, func(x state) bool {
		if x.Index <= uint64(from) {
			before = &x
		}
		return x.Index <= uint64(to)
	})
	if err == nil {
		err = errors.Join(s.holds(from), s.holds(to))
	}
	if err != nil {
		return Difference{}, err
	}
	if before == nil {
		before = &s.oldest
	}
	return differenceOf(*before, s.chosen), nil
}

// state is a value with its position.
type state struct {
	Point
	value cluster.Value
}

// scan is one walk through the log.
type scan struct {
	oldest, chosen, newest state
	skew                   int64
}

// scan walks through the log and keeps the newest state that choose accepts; the oldest one where it accepts none.
func (p *Past) scan(ctx context.Context, choose func(state) bool) (scan, error) {
	oldest, err := p.Historian.Oldest(ctx, p.Store)
	if err != nil {
		return scan{}, err
	}
	s := scan{oldest: state{Point{Index: uint64(oldest.Index())}, oldest}}
	s.chosen, s.newest = s.oldest, s.oldest
	latest := int64(0)
	err = p.Historian.History(ctx, p.Store, oldest.Index(), func(v cluster.Value, a protocol.Applied) bool {
		s.newest = state{Point{uint64(a.Entry.Index), a.Entry.AtMS, string(a.Entry.Writer)}, v}
		s.skew = max(s.skew, latest-a.Entry.AtMS)
		latest = max(latest, a.Entry.AtMS)
		if choose(s.newest) {
			s.chosen = s.newest
		}
		return ctx.Err() == nil
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && s.newest.Index == 0 {
		err = ErrEmpty
	}
	return s, err
}

// holds is the error for an index that the log does not hold.
func (s *scan) holds(index cluster.Index) error {
	if uint64(index) < s.oldest.Index || uint64(index) > s.newest.Index {
		return &OutOfLogError{Wanted: index, Oldest: s.oldest.Point, Newest: s.newest.Point}
	}
	return nil
}

func (s *scan) moment() Moment {
	v := s.chosen.value
	m := Moment{Point: s.chosen.Point, Oldest: s.oldest.Point, Newest: s.newest.Point, SkewMS: s.skew,
		Digest: fmt.Sprintf("%016x", uint64(v.Digest())), Members: Of(v).Members(), Tasks: Of(v).Tasks(Filter{}),
		Jobs: []string{}}
	m.Total = len(m.Tasks)
	for j := range v.Jobs() {
		if j.Spec.Source == "" && !cluster.PartitionID(j.ID).Reserved() {
			m.Jobs = append(m.Jobs, string(j.ID))
		}
	}
	return m
}

func differenceOf(before, after state) Difference {
	d := Difference{From: before.Point, To: after.Point, Members: []MemberChange{}, Jobs: []JobChange{},
		Tasks: []TaskChange{}}
	for _, r := range cluster.Changes(before.value, after.value) {
		switch {
		case r.Member != "":
			d.Members = append(d.Members, MemberChange{string(r.Member), memberAt(before.value, r.Member),
				memberAt(after.value, r.Member)})
		case r.Job != "":
			if !cluster.PartitionID(r.Job).Reserved() {
				d.Jobs = append(d.Jobs, JobChange{string(r.Job), jobAt(before.value, r.Job), jobAt(after.value, r.Job)})
			}
		case !r.Partition.Reserved():
			d.Tasks = append(d.Tasks, TaskChange{string(r.Partition), taskAt(before.value, r.Partition),
				taskAt(after.value, r.Partition)})
		}
	}
	return d
}

func memberAt(v cluster.Value, id cluster.MemberID) *Member {
	if m, ok := v.Member(id); ok {
		return new(Of(v).Member(m))
	}
	return nil
}

func jobAt(v cluster.Value, id cluster.JobID) string {
	j, ok := v.Job(id)
	if !ok {
		return ""
	}
	return j.State.String()
}

func taskAt(v cluster.Value, id cluster.PartitionID) *Task {
	if p, ok := v.Partition(id); ok {
		return new(Of(v).Task(p))
	}
	return nil
}
