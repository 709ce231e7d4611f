package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
)

// note is a document in which the member says something to those who read the store. No decision reads it. One
// goroutine uses it.
type note struct {
	key string
	at  store.Version // of what this process has written; "" before that
}

// write writes the document. What a former process of the member left there, or an outcome that was unknown, makes it
// read the version first.
func (d *note) write(ctx context.Context, n *Node, now any) error {
	value, err := json.Marshal(now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, n.c.TTL)
	defer cancel()
	at, err := n.c.Store.Put(ctx, store.Doc{Key: d.key, Value: value, Version: d.at})
	if errors.Is(err, store.ErrConflict) {
		if d.at, err = d.current(ctx, n); err != nil {
			return err
		}
		at, err = n.c.Store.Put(ctx, store.Doc{Key: d.key, Value: value, Version: d.at})
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.key, err)
	}
	d.at = at
	return nil
}

// current is the version of the document that is there.
func (d *note) current(ctx context.Context, n *Node) (store.Version, error) {
	doc, err := n.c.Store.Get(ctx, d.key)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return doc.Version, err
}

// remove removes the document when the member stops gracefully. One that stays does no harm: readers look for members
// that are in the value.
func (d *note) remove(ctx context.Context, n *Node) {
	if d.at == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := n.c.Store.Delete(ctx, d.key, d.at); err != nil {
		n.c.Logger.Debug("remove a document of this member", "key", d.key, "err", err)
	}
}

// FailingPrefix is where members keep what fails on them among the documents, each under PREFIX<member>.
const FailingPrefix = "failing/"

// MaxFailing bounds Failing.Runs.
const MaxFailing = 1_000

// Failing is the document in which a member says which of its runs fail, so that one who reads the store sees it
// without reaching the member. It is for people: no decision reads it. A member that was killed leaves it behind;
// compare the token of a run with that in the value.
type Failing struct {
	Member     string       `json:"member"`
	AtMS       int64        `json:"at_ms"`       // by the member's own clock
	Failing    int          `json:"failing"`     // periodic runs whose last round failed
	BackingOff int          `json:"backing_off"` // runs that wait before they start again
	Runs       []FailingRun `json:"runs"`        // the first MaxFailing of them, sorted by partition
}

// FailingRun is one run that fails. Its numbers and its message are as old as the document.
type FailingRun struct {
	Partition cluster.PartitionID `json:"partition"`
	Token     cluster.Token       `json:"token"`
	State     string              `json:"state"`              // failing, backing off
	SinceMS   int64               `json:"since_ms,omitempty"` // failing: the first round that failed, by the member's clock
	Rounds    int64               `json:"rounds,omitempty"`   // failing: since the run began
	Failures  int64               `json:"failures"`           // failing: of those rounds; backing off: runs in a row
	Message   string              `json:"message"`            // of the last failure
}

// The states of a [FailingRun].
const (
	StateFailing    = "failing"
	StateBackingOff = "backing off"
)

// What is kept of a message, in bytes: of the first runs that are listed, and of the others.
const (
	maxMessage  = 300
	longOnes    = 100
	maxOfOthers = 100
)

// failingOf picks what fails. It lists nothing that is well, so a healthy member has an empty document or none.
func failingOf(member cluster.MemberID, s supervisor.Status, atMS int64) Failing {
	f := Failing{Member: string(member), AtMS: atMS, Failing: s.Counts.Failing, BackingOff: s.Counts.BackingOff,
		Runs: []FailingRun{}}
	for _, r := range s.Runs {
		run := FailingRun{Partition: r.Partition, Token: r.Token, Message: r.LastError}
		switch {
		case r.FailedInRow > 0:
			run.State, run.SinceMS, run.Rounds, run.Failures = StateFailing, r.FailingMS, r.Rounds, r.Failures
		case r.Retries():
			run.State, run.Failures = StateBackingOff, r.Attempt
		default:
			continue
		}
		most := maxMessage
		if len(f.Runs) >= longOnes {
			most = maxOfOthers
		}
		if len(f.Runs) == MaxFailing {
			break
		}
		run.Message = safetext.Cut(run.Message, most)
		f.Runs = append(f.Runs, run)
	}
	return f
}

// same tells whether two documents list the same runs in the same states: then the newer one differs in numbers and
// messages at most.
func (f Failing) same(g Failing) bool {
	return f.Failing == g.Failing && f.BackingOff == g.BackingOff &&
		slices.EqualFunc(f.Runs, g.Runs, func(a, b FailingRun) bool {
			return a.Partition == b.Partition && a.Token == b.Token && a.State == b.State
		})
}

// The pace of the document: a change is gathered for a moment with others, and then there is rest. Where the same runs
// fail it is written again after a while, for their numbers.
const (
	failingGather = time.Second
	failingRest   = 4 * time.Second
	failingAgain  = time.Minute
)

// failing keeps the member's document.
type failing struct {
	note
	news wait.Wake
	told Failing
}

func newFailing(m cluster.MemberID) *failing {
	return &failing{note: note{key: failingKey(m)}, news: wait.NewWake()}
}

// failed reports that a run or a round has failed. It may be called from any goroutine.
func (f *failing) failed() { f.news.Set() }

func (n *Node) roundDone(r supervisor.RoundDone) {
	n.stats.count(func(s *sums) { s.late.Add(max(r.Lateness, 0)) })
	if r.Err != nil {
		n.failing.failed()
	}
}

// keepFailing writes the document when other runs fail, at most every few seconds, until ctx ends; then it removes it.
// Where nothing fails it only waits; while something does, it looks again and again, so that it misses no end of it.
func (n *Node) keepFailing(ctx context.Context) {
	f := n.failing
	defer f.remove(ctx, n)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.news:
		}
		for ails := true; ails; {
			if !wait.For(ctx, failingGather) {
				return
			}
			now := failingOf(n.c.Member, n.sup.Status(), time.Now().UnixMilli())
			ails = len(now.Runs) > 0
			if !now.same(f.told) || ails && now.AtMS-f.told.AtMS >= failingAgain.Milliseconds() {
				if err := f.write(ctx, n, now); err != nil {
					n.c.Logger.Debug("note what fails", "err", err)
					ails = true // try again after the rest
				} else {
					f.told = now
				}
			}
			if !wait.For(ctx, failingRest) {
				return
			}
		}
	}
}

func failingKey(m cluster.MemberID) string { return FailingPrefix + string(m) }

// SinksPrefix is where members keep what their sinks say among the documents, each under PREFIX<member>.
const SinksPrefix = "sinks/"

// Sinks is the document in which a member says how its sinks do, so that one who reads the store sees it without
// reaching the member. It is for people: no decision reads it. A member that was killed leaves it behind.
type Sinks struct {
	Member cluster.MemberID `json:"member"`
	Sinks  []Sink           `json:"sinks"`
}

// Sink is one sink of a member: what stays the same while all is well. Its queue and how much it has sent are in the
// member's API and metrics.
type Sink struct {
	Name          string `json:"name"`                 // where the samples go, without secrets
	Dropped       int64  `json:"dropped"`              // samples that were lost
	Errors        int64  `json:"errors"`               // failed attempts
	Late          bool   `json:"late,omitempty"`       // a sample has waited for longer than a minute
	LastError     string `json:"last_error,omitempty"` // of the last attempt that failed
	LastErrorAtMS int64  `json:"last_error_at_ms,omitempty"`
}

const (
	lateAfter = time.Minute
	// sinksLook is how often a member looks at its sinks, in memory. Errors and losses grow all the time while a server
	// is away, so there is a longer rest after each write.
	sinksLook = 5 * time.Second
	sinksRest = 30 * time.Second
)

// sinksOf are the sinks of which others should know: those on servers, and any other that has lost something or failed.
func sinksOf(all []publish.Status) (out []Sink) {
	for _, s := range all {
		if !strings.Contains(s.Name, "://") && s.Errors == 0 && s.Dropped == 0 {
			continue
		}
		out = append(out, Sink{
			Name: s.Name, Dropped: s.Dropped, Errors: s.Errors, Late: s.LagMS > lateAfter.Milliseconds(),
			LastError: safetext.Cut(s.LastError, maxMessage), LastErrorAtMS: s.LastErrorAtMS,
		})
	}
	return out
}

// keepSinks writes the document when it changes, until ctx ends; then it removes it.
func (n *Node) keepSinks(ctx context.Context) {
	if n.c.Publisher == nil {
		return
	}
	d := note{key: SinksPrefix + string(n.c.Member)}
	defer d.remove(ctx, n)
	var told []Sink
	for stale, next := n.leftBehind(ctx, &d), time.Duration(0); wait.For(ctx, next); next = sinksLook {
		now := sinksOf(publish.Sinks(n.c.Publisher))
		if !stale && slices.Equal(now, told) {
			continue
		}
		if err := d.write(ctx, n, Sinks{n.c.Member, now}); err != nil {
			n.c.Logger.Debug("note what the sinks say", "err", err)
		} else {
			stale, told = false, now
		}
		wait.For(ctx, sinksRest)
	}
}

// leftBehind tells whether a process of this name has left a document: that must go, also where there is nothing to
// say. Who cannot know it assumes it.
func (n *Node) leftBehind(ctx context.Context, d *note) bool {
	ctx, cancel := context.WithTimeout(ctx, n.c.TTL)
	defer cancel()
	var err error
	d.at, err = d.current(ctx, n)
	return err != nil || d.at != ""
}
