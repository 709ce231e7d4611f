package node

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/publish"
)

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
			LastError: plain.Cut(s.LastError, maxMessage), LastErrorAtMS: s.LastErrorAtMS,
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
	for stale, wait := n.leftBehind(ctx, &d), time.Duration(0); pause(ctx, wait); wait = sinksLook {
		now := sinksOf(publish.Sinks(n.c.Publisher))
		if !stale && slices.Equal(now, told) {
			continue
		}
		if err := d.write(ctx, n, Sinks{n.c.Member, now}); err != nil {
			n.c.Logger.Debug("note what the sinks say", "err", err)
		} else {
			stale, told = false, now
		}
		if !pause(ctx, sinksRest) {
			return
		}
	}
}

// leftBehind tells whether a process of this name has left a document: that must go, also where there is nothing to
// say. Who cannot know it assumes it.
func (n *Node) leftBehind(ctx context.Context, d *note) bool {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(n.c.TTL, 10*time.Second))
	defer cancel()
	var err error
	d.at, err = d.current(ctx, n)
	return err != nil || d.at != ""
}
