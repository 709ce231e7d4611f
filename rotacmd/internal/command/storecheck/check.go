package storecheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
)

// Step is one thing that was tried.
type Step struct {
	Name string `json:"name"`
	// OK is false where it did not work, and where the store cannot do it at all.
	OK bool `json:"ok"`
	// Error says what did not work; "" where it did.
	Error string `json:"error,omitempty"`
	// Note says what a user should know of a step that worked, or that the store cannot do.
	Note string `json:"note,omitempty"`
	// Times is how often it was done, of which TypicalMS is the median and WorstMS the longest, in milliseconds.
	Times     int     `json:"times,omitempty"`
	TypicalMS float64 `json:"typical_ms,omitempty"`
	WorstMS   float64 `json:"worst_ms,omitempty"`
	// Optional marks what members can do without.
	Optional bool `json:"optional,omitempty"`
}

// Report is what came out.
type Report struct {
	Steps []Step `json:"steps"`
	// OK says that all that members need works.
	OK bool `json:"ok"`
}

// rounds is how often a step is done. Enough for a median, and few enough for a store over a slow line.
const rounds = 20

// Run tries everything on a store that holds nothing of value. ctx bounds it as a whole; it goes on behind a step that
// failed.
func Run(ctx context.Context, s store.Full) Report {
	c := &check{ctx: ctx, store: s, prefix: fmt.Sprintf("check/%d/", time.Now().UnixNano())}
	if c.try("place", c.place); !c.steps[0].OK {
		return Report{Steps: c.steps}
	}
	c.try("append", c.appends)
	c.try("read", c.reads)
	c.try("snapshot", c.snapshot)
	c.try("conditional write", c.conditional)
	c.try("list", c.list)
	c.try("watch", c.watch)
	c.try("session", c.session)
	r := Report{Steps: c.steps, OK: true}
	for _, step := range c.steps {
		r.OK = r.OK && (step.OK || step.Optional)
	}
	return r
}

// check is one run.
type check struct {
	ctx    context.Context
	store  store.Full
	prefix string // of its documents: nobody else has written there
	last   uint64 // index of its newest record
	steps  []Step
	took   []time.Duration // of the present step
}

// missing is an ability that the store does not have.
type missing struct{ note string }

func (m missing) Error() string { return m.note }

func (c *check) try(name string, do func() (note string, err error)) {
	c.took = nil
	step := Step{Name: name}
	note, err := do()
	var m missing
	switch {
	case errors.As(err, &m):
		step.Optional, step.Note = true, m.note
	case err != nil:
		step.Error = err.Error()
	default:
		step.OK, step.Note = true, note
	}
	if slices.Sort(c.took); len(c.took) > 0 && step.OK {
		step.Times = len(c.took)
		step.TypicalMS = milliseconds(c.took[len(c.took)/2])
		step.WorstMS = milliseconds(c.took[len(c.took)-1])
	}
	c.steps = append(c.steps, step)
}

// milliseconds with two digits behind the point.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond).Microseconds()) / 1000
}

// time measures one round trip.
func (c *check) time(do func() error) error {
	began := time.Now()
	err := do()
	c.took = append(c.took, time.Since(began))
	return err
}

// repeat measures several round trips.
func (c *check) repeat(do func() error) error {
	for range rounds {
		if err := c.time(do); err != nil {
			return err
		}
	}
	return nil
}

// expect is nil if err is the error that must come.
func expect(what string, err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	if err == nil {
		return fmt.Errorf("%s was taken; it must be refused", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// place makes sure that no cluster uses the place: a check appends to its log.
func (c *check) place() (string, error) {
	docs, err := c.store.List(c.ctx, "")
	if err != nil {
		return "", err
	}
	for _, d := range docs {
		if !strings.HasPrefix(d.Key, "check/") {
			return "", fmt.Errorf("it is in use: it has a document %s", d.Key)
		}
	}
	return "", nil
}

// clean removes a document that a step has made.
func (c *check) clean(d store.Doc) error {
	if err := c.store.Delete(c.ctx, d.Key, d.Version); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}
