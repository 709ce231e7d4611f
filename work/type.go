package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Runner works on one granted partition until it finishes (nil), fails (error) or ctx ends.
// For a periodic type one call is one round: nil means that the round is over, an error is journaled as a run error.
type Runner interface {
	Run(ctx context.Context, g *Grant) error
}

// RunnerFunc is a function that is a Runner.
type RunnerFunc func(ctx context.Context, g *Grant) error

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, g *Grant) error { return f(ctx, g) }

// Type is a task type: a name and a constructor of its Runner.
type Type struct {
	Name string
	// Doc is a one-line description for users.
	Doc string
	// New decodes and checks the definition's config and returns a Runner bound to it. It does no I/O. It may be called
	// often (to check a file), and returns a *ConfigError if it knows which field is wrong.
	New func(d Definition) (Runner, error)
	// Periodic types run once per Definition.Every, on the timer wheel; such a partition never finishes on its own.
	Periodic bool
	// DefaultEvery is the period of a periodic type whose definition names none.
	DefaultEvery time.Duration
	// Stays is for a type whose runs end by themselves: a task of it does not move to even the load, which would begin
	// its run again, unless its definition says stay: false.
	Stays bool
	// MaxConcurrent bounds how many rounds or runs of the type are in progress on one member; 0 means 256 for periodic
	// types, and no bound for others.
	MaxConcurrent int
	// Segments is set for a type whose tasks are stages of flows; see package internal/work/stage.
	Segments *Segments
}

// Types is the table of task types of a member; keys are names. A program builds its own table; there is no global one.
type Types map[string]Type

// OnStoreLoss is what a running partition does when its member cannot reach the store until its lease expires.
type OnStoreLoss string

// The choices. Keep gives up G2 (no overlap of owners) for availability.
const (
	StoreLossStop OnStoreLoss = "stop" // default
	StoreLossKeep OnStoreLoss = "keep"
)

// Definition is the part of a task that its runner reads; it is the JSON in cluster.TaskSpec.Definition.
type Definition struct {
	EveryMS     int64             `json:"every_ms,omitempty"`
	Cron        string            `json:"cron,omitempty"`      // five fields; instead of every
	TimeZone    string            `json:"time_zone,omitempty"` // of cron, such as Europe/Berlin; "" is UTC
	CatchUp     CatchUp           `json:"catch_up,omitempty"`  // of cron, and of periods of a minute and more; "" is CatchUpOnce
	TimeoutMS   int64             `json:"timeout_ms,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"` // go on all samples
	OnStoreLoss OnStoreLoss       `json:"on_store_loss,omitempty"`
	Retry       Retry             `json:"retry,omitzero"`
	// From are the tasks that a stage of a flow takes segments from, and Parts is in how many parts one reads that
	// takes from none.
	From   []Ingress       `json:"from,omitempty"`
	Parts  int             `json:"parts,omitempty"`
	Keyed  bool            `json:"keyed,omitempty"` // a stage keeps state for each key
	Config json.RawMessage `json:"config,omitempty"`
}

// CatchUp says what happens to the rounds of a cron line, or of a period of a minute or more, that were planned for a
// time in which no member ran the partition: its owner had died, there was no member, or the store was unreachable.
type CatchUp string

// The policies. A round that is due while the previous one still runs is skipped, except with CatchUpAll.
const (
	CatchUpOnce CatchUp = "once" // default: one round replaces all of them
	CatchUpSkip CatchUp = "skip" // none: the next planned round
	CatchUpAll  CatchUp = "all"  // each of them, one after the other; see Grant.Planned
)

// Ingress is an edge into a task, as in the task's definition.
type Ingress struct {
	Task   string `json:"task"`             // the source of the segments
	Shards int    `json:"shards,omitempty"` // number of parts; default 1
	By     string `json:"by,omitempty"`     // segments with equal keys meet in one part
}

// Segments are the types of the segments that a task type consumes and produces in a flow, "" for none.
type Segments struct {
	In, Out string
	Keyed   bool // it keeps state for each key
}

// AnySegments fits every type of segments: bytes that hold JSON.
const AnySegments = "JSON"

// Retry is the back-off between failures of a partition: exponential from MinMS to MaxMS with jitter. Zero means 1 s
// and 5 min.
type Retry struct {
	MinMS int64 `json:"min_ms,omitempty"`
	MaxMS int64 `json:"max_ms,omitempty"`
}

// ConfigError says which field of a definition is wrong. Path is dotted from the top of the task file:
// "config.expect.status".
type ConfigError struct {
	Path string
	Err  error
	Hint string // what to try; "" for none
}

// Error gives path and cause.
func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// DecodeConfig decodes d.Config into v, refusing unknown fields; its error is a *ConfigError under "config".
func DecodeConfig(d Definition, v any) error {
	if len(d.Config) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(d.Config))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		return nil
	}
	path := "config"
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) && te.Field != "" {
		path += "." + te.Field
		err = fmt.Errorf("a %s does not fit %s", te.Value, te.Type)
	}
	return &ConfigError{Path: path, Err: err}
}

// Duration is a time.Duration that is written "10s" in JSON and YAML.
type Duration time.Duration

// maxDuration bounds the text of a duration, in bytes.
const maxDuration = 64

// UnmarshalText parses "1m30s".
func (d *Duration) UnmarshalText(b []byte) error {
	if len(b) > maxDuration {
		return fmt.Errorf("%d bytes are no duration such as 10s or 1m30s", len(b))
	}
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s or 1m30s", b)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
