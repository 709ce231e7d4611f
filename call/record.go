package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
)

// State is the state of a call.
type State string

// The states. The last three are final: such a document is only deleted, never written again.
const (
	Queued    State = "queued"    // not running; a member with an idle slot may claim it
	Running   State = "running"   // claimed by Record.Runner
	Done      State = "done"      // Record.Result is its result
	Failed    State = "failed"    // out of attempts, or a permanent error
	Cancelled State = "cancelled" // cancelled before it was done
)

// Final reports whether this state is the last one.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

// format is written into every document; a document of a newer format is left alone.
const format = 1

// Record is the content of a call's document. It is a value: do not change what it points to.
type Record struct {
	Format   int             `json:"v"`
	Function string          `json:"f"`
	Arg      json.RawMessage `json:"arg,omitempty"`
	Limits   Limits          `json:"limits"`
	// On is the member that was chosen to run it; see Options.On.
	On cluster.MemberID `json:"on,omitempty"`
	// OnFailure runs in the same document when the call has failed.
	OnFailure *Handler `json:"on_failure,omitempty"`
	State     State    `json:"state"`
	// Attempt is the number of runs that were begun, without those that were returned.
	Attempt int64 `json:"attempt,omitempty"`
	// Token grows with each claim: it is the fencing token of the run.
	Token uint64 `json:"token,omitempty"`
	// Runner is the last claim.
	Runner *Runner `json:"runner,omitempty"`
	// Cancel asks the runner to stop.
	Cancel bool `json:"cancel,omitempty"`
	// BackoffMS is how long a member lets a queued call wait, from its first observation.
	BackoffMS int64           `json:"backoff_ms,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	// Error is why the newest attempt failed, TimedOut whether it took too long.
	Error    string `json:"error,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	// Outcome is how the call ended, while its handler runs in the document.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Runner is one claim.
type Runner struct {
	Member      cluster.MemberID    `json:"member"`
	Incarnation cluster.Incarnation `json:"incarnation"`
	Nonce       string              `json:"nonce"` // unique to this claim, so that the claimer recognizes it
}

// Limits bound the runs of a call.
type Limits struct {
	Attempts     int64 `json:"attempts"`
	TimeoutMS    int64 `json:"timeout_ms,omitempty"` // of an attempt; 0: none
	BackoffMS    int64 `json:"backoff_ms,omitempty"` // before the second attempt; doubles with each further one
	MaxBackoffMS int64 `json:"max_backoff_ms,omitempty"`
	ResultBytes  int   `json:"result_bytes"`
}

// Handler is the function that runs after a failed call.
type Handler struct {
	Function string `json:"f"`
	Limits   Limits `json:"limits"`
}

// Outcome is how a call ended.
type Outcome struct {
	State    State            `json:"state"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Error    string           `json:"error,omitempty"`
	TimedOut bool             `json:"timed_out,omitempty"`
	Attempts int64            `json:"attempts"`
	Member   cluster.MemberID `json:"member,omitempty"` // the member of the last run
}

// Failure is the argument of the function that runs after a failed call; see Options.OnFailure.
type Failure struct {
	Call     string           `json:"call"` // its ID
	Function string           `json:"function"`
	Arg      json.RawMessage  `json:"arg,omitempty"` // of the call, as JSON
	Error    string           `json:"error"`
	TimedOut bool             `json:"timed_out,omitempty"`
	Attempts int64            `json:"attempts"`
	Member   cluster.MemberID `json:"member,omitempty"` // the member of the last run
}

// Ended returns the outcome of the call; false while it has none.
func (r Record) Ended() (Outcome, bool) {
	switch {
	case r.Outcome != nil:
		return *r.Outcome, true
	case r.State.Final():
		return r.outcome(), true
	}
	return Outcome{}, false
}

func (r Record) outcome() Outcome {
	return Outcome{State: r.State, Result: r.Result, Error: r.Error, TimedOut: r.TimedOut, Attempts: r.Attempt,
		Member: r.runner().Member}
}

func (r Record) runner() Runner {
	if r.Runner == nil {
		return Runner{}
	}
	return *r.Runner
}

func (r Record) encode() ([]byte, error) {
	r.Format = format
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode call of %s: %w", r.Function, err)
	}
	return b, nil
}

// decode reads a document, whatever its bytes are.
func decode(b []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("decode call: %w", err)
	}
	switch {
	case r.Format != format:
		return Record{}, fmt.Errorf("decode call: format %d: this program knows format %d: run a newer one", r.Format,
			format)
	case r.State == Running && r.Runner == nil, r.State != Running && r.State != Queued && !r.State.Final():
		return Record{}, fmt.Errorf("decode call: state %q without a meaning", r.State)
	}
	return r, nil
}

const (
	// prefix begins the key of a call, call/<queue>/<page>/<number>; the rest of the key is its ID.
	prefix = "call/"
	// pagePrefix is where the pages are: callpage/<queue>/<page>. A call runs only while its page is there.
	pagePrefix = "callpage/"
)

// pageSize and pageBytes bound one page: a member that looks for work lists a page as a whole.
const (
	pageSize  = 128
	pageBytes = 1 << 20
)

// place is where a call is.
type place struct {
	queue, page string
	number      int
}

func (p place) id() string   { return fmt.Sprintf("%s/%s/%03d", p.queue, p.page, p.number) }
func (p place) key() string  { return prefix + p.id() }
func (p place) dir() string  { return prefix + p.queue + "/" + p.page + "/" }
func (p place) head() string { return pagePrefix + p.queue + "/" + p.page }

// parseID reads an ID as [Handle.ID] gives it.
func parseID(id string) (place, error) {
	parts := strings.Split(id, "/")
	if len(parts) == 3 && cluster.CheckName(parts[0]) == nil && cluster.CheckName(parts[1]) == nil {
		n, err := strconv.Atoi(parts[2])
		if p := (place{parts[0], parts[1], n}); err == nil && p.id() == id {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("%q is not the ID of a call: one looks like %q", id,
		place{"caller", "5f0c19aa-000001", 7}.id())
}

// parseHead reads the key of a page.
func parseHead(key string) (place, bool) {
	queue, page, ok := strings.Cut(strings.TrimPrefix(key, pagePrefix), "/")
	return place{queue: queue, page: page}, ok && !strings.Contains(page, "/")
}

// submitter is the part of a page's name that all pages of one start of one client share.
func (p place) submitter() string {
	s, _, _ := strings.Cut(p.page, "-")
	return p.queue + "/" + s
}

// Listed is one call as the store has it.
type Listed struct {
	ID    string `json:"call"`
	Queue string `json:"queue"` // the name of who submitted it
	Record
}

// List reads all calls that the store has, sorted by ID: those that wait or run, and the outcomes that nobody has
// collected yet. What cannot be read is counted.
func List(ctx context.Context, docs store.Docs) (calls []Listed, unreadable int, err error) {
	heads, err := docs.List(ctx, pagePrefix)
	if err != nil {
		return nil, 0, fmt.Errorf("list calls: %w", err)
	}
	for _, h := range heads {
		at, ok := parseHead(h.Key)
		if !ok {
			continue
		}
		page, err := docs.List(ctx, at.dir())
		if err != nil {
			return nil, 0, fmt.Errorf("list calls: %w", err)
		}
		for _, d := range page {
			r, err := decode(d.Value)
			if err != nil {
				unreadable++
				continue
			}
			calls = append(calls, Listed{ID: strings.TrimPrefix(d.Key, prefix), Queue: at.queue, Record: r})
		}
	}
	return calls, unreadable, nil
}

// stored is a call as it is in the store.
type stored struct {
	key     string
	version store.Version
	Record
}

func read(ctx context.Context, docs store.Docs, key string) (stored, error) {
	d, err := docs.Get(ctx, key)
	if err != nil {
		return stored{}, err
	}
	r, err := decode(d.Value)
	if err != nil {
		return stored{}, fmt.Errorf("%s: %w", key, err)
	}
	return stored{d.Key, d.Version, r}, nil
}

// act does what concerns the document of one call.
func act(ctx context.Context, docs store.Docs, key string, fx effect) answer {
	switch fx := fx.(type) {
	case putCall:
		body, err := fx.record.encode()
		if err != nil {
			return putEnded{err: err}
		}
		v, err := docs.Put(ctx, store.Doc{Key: key, Value: body, Version: fx.version})
		return putEnded{v, err}
	case pause:
		return paused{rest(ctx, fx.try)}
	}
	now, err := read(ctx, docs, key)
	return got{now, err}
}

// rest waits a little longer each time.
func rest(ctx context.Context, try int) error {
	wait.For(ctx, min(time.Duration(try)*10*time.Millisecond, time.Second))
	return context.Cause(ctx)
}

// remove deletes a document at a version; one that is gone or was changed is no error.
func remove(ctx context.Context, docs store.Docs, key string, v store.Version) (removed bool, err error) {
	err = docs.Delete(ctx, key, v)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
