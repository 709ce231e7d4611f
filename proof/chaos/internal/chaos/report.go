package chaos

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/protocol"
)

// Report is the outcome.
type Report struct {
	Events        int              `json:"events"`
	Kinds         map[string]int   `json:"kinds"` // events by kind
	Seed          uint64           `json:"seed"`
	Protocol      string           `json:"protocol,omitempty"`
	NotDone       map[string]int   `json:"not_done"` // that the machine cannot do, by kind
	Injected      map[string]int   `json:"injected"` // system calls that were made to fail or wait, by kind
	TTLMS         int64            `json:"ttl_ms"`
	BoundMS       int64            `json:"bound_ms"`           // that gaps are held to
	LongestGapMS  int64            `json:"longest_gap_ms"`     // without a run, of what counts against the bound
	SilenceMS     int64            `json:"longest_silence_ms"` // the same with what was excused
	Owned         float64          `json:"owned"`              // the share of their time in which tasks had an owner who was awake
	OwnedPossible float64          `json:"owned_of_possible"`  // the same of the time in which there could be one
	SlowMS        float64          `json:"slow_ms"`            // how long a task was without an owner for each event, where it could have had one
	Lost          map[string]*lost `json:"lost"`               // time without an owner, by the kind of event after which it began
	OverlapMS     int64            `json:"overlap_ms"`         // longest of those that were not excused
	HealMS        int64            `json:"heal_ms"`            // until everything ran after the faults had stopped
	Overlaps      int              `json:"overlaps"`           // that were not excused
	Excused       int              `json:"overlaps_of_suspended"`
	Runs          int              `json:"runs"`
	Moves         int              `json:"moves"`
	Acts          int              `json:"acts"`
	Refused       int              `json:"acts_refused"`
	Items         int              `json:"items"` // of finite tasks that are finished
	Unread        uint64           `json:"log_entries_not_seen"`
	Stalls        int              `json:"stalls"`         // times in which the machine stood still: all processes count as suspended then
	StallMS       int64            `json:"stall_ms"`       // longest time for which it let the driver wait
	Late          []string         `json:"late,omitempty"` // conditions that were not reached in time, for people
	Violations    []string         `json:"violations"`
	Kept          string           `json:"kept,omitempty"` // directory, where something is wrong
	Seconds       float64          `json:"seconds"`
	OK            bool             `json:"ok"`

	marks []mark
	worst map[string]time.Duration // longest gap that began after an event of this kind
	o     Options
}

// mark is when an event was done.
type mark struct {
	at   int64
	kind string
}

func newReport(o Options) Report {
	return Report{Seed: o.Seed, Protocol: o.Protocol, Kinds: map[string]int{}, NotDone: map[string]int{},
		Violations: []string{}, worst: map[string]time.Duration{},
		TTLMS: o.TTL.Milliseconds(), BoundMS: o.bound().Milliseconds(), o: o}
}

func (r *Report) count(kind string, at protocol.Instant) {
	r.Events++
	r.Kinds[kind]++
	r.marks = append(r.marks, mark{int64(at), kind})
}

func (r *Report) violated(text string) { r.Violations = append(r.Violations, text) }

// judge decides.
func (c *Cluster) judge(r *Report) error {
	h, err := c.history(int64(c.end))
	if err != nil {
		return err
	}
	verdict := history.Decide(h)
	for _, v := range verdict.Violations {
		r.violated(v.String())
	}
	for _, s := range c.surprises {
		r.violated(s)
	}
	r.LongestGapMS, r.SilenceMS = millis(verdict.LongestGap), millis(verdict.LongestSilence)
	r.lose(verdict, c.end.Sub(c.beganAt))
	if err := c.writeSilences(r, verdict.Silences); err != nil {
		return err
	}
	r.Overlaps, r.Excused, r.OverlapMS = verdict.Overlaps, verdict.ExcusedPairs, millis(verdict.LongestUnexcused)
	r.Runs, r.Moves, r.Acts, r.Refused, r.Items = verdict.Runs, verdict.Moves, verdict.Acts, verdict.Refused,
		verdict.Items
	r.attribute(verdict.Gaps)
	r.Unread = c.follower.skipped
	r.Stalls, r.StallMS = len(c.stalls.Spans()), millis(c.stalls.Longest())
	r.Late = c.late
	r.Injected = c.injected
	r.Seconds = float64(time.Since(c.began).Milliseconds()) / 1000
	r.OK = len(r.Violations) == 0
	r.BoundMS = millis(c.bound())
	c.say("%s", r.table())
	return nil
}

// standstills are the times in which the machine stood still: all processes count as suspended then.
func standstills(w *process.Stalls) []history.Span {
	var out []history.Span
	for _, s := range w.Spans() {
		out = append(out, history.Span{From: s.From, To: s.To, Why: "the machine stood still"})
	}
	return out
}

// history is all that was written down up to an instant.
func (c *Cluster) history(end int64) (history.History, error) {
	if err := c.look(); err != nil {
		return history.History{}, err
	}
	acts, err := readActs(c.actsFile())
	if err != nil {
		return history.History{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	records := slices.DeleteFunc(append(slices.Clone(c.records), acts...),
		func(r history.Record) bool { return r.At > end })
	stalls := standstills(c.stalls)
	excused := slices.Concat(c.excused, stalls, history.Deserted(records, end))
	helpless := slices.Concat(c.excused, stalls, history.Unmanned(records, end))
	return history.History{
		Records: records, Promises: promises(records), Excused: excused, Helpless: helpless, Stalls: stalls, End: end,
		Bounds: history.Bounds{Gap: c.bound(), Lease: c.options.TTL * 105 / 100, Wake: wake},
	}, nil
}

// attribute finds for each gap the event before it.
func (r *Report) attribute(gaps []history.Span) {
	for _, g := range gaps {
		k := r.at(g.From)
		r.worst[k] = max(r.worst[k], time.Duration(g.To-g.From))
	}
}

func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// table is the report for people.
func (r *Report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-20s %6s  %s\n", "event", "times", "longest gap that began after it")
	for _, k := range slices.Sorted(maps.Keys(r.Kinds)) {
		fmt.Fprintf(&b, "%-20s %6d  %s\n", k, r.Kinds[k], r.worst[k].Round(time.Millisecond))
	}
	b.WriteString(r.losses())
	for _, k := range slices.Sorted(maps.Keys(r.NotDone)) {
		fmt.Fprintf(&b, "%-20s NOT DONE %d times\n", k, r.NotDone[k])
	}
	for _, l := range r.Late {
		fmt.Fprintf(&b, "late: %s\n", l)
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "VIOLATION %s\n", v)
	}
	fmt.Fprintf(&b, "%d events of %d kinds in %.1f s · %d runs, %d moves, %d acts (%d refused), %d items · longest gap %d ms (bound %d ms, TTL %d ms) · owned %.3f, of what is possible %.3f (slow %.0f ms for each event) · "+
		"overlaps %d, of suspended members %d · healed in %d ms · violations %d\n",
		r.Events, len(r.Kinds), r.Seconds, r.Runs, r.Moves, r.Acts, r.Refused, r.Items, r.LongestGapMS, r.BoundMS,
		r.TTLMS,
		r.Owned, r.OwnedPossible, r.SlowMS, r.Overlaps, r.Excused, r.HealMS, len(r.Violations))
	return b.String()
}

// readActs reads what all witness tasks did, in the order in which they did it, through a fence that refuses smaller
// tokens.
func readActs(path string) ([]history.Record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the acts: %w", err)
	}
	acts, _, err := history.ReadLines(data, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return history.Fence(acts), nil
}
