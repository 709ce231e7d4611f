package call

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/rota-run/rota/cluster"
)

// Options of a function's calls. They belong to the caller: Submit writes them into each call. The zero value works.
type Options struct {
	Attempts   int           // most runs, including those lost with their member; default 5
	Timeout    time.Duration // of an attempt; 0: none
	Backoff    time.Duration // before the second attempt, doubles with each further one; default 1 s; negative: none
	MaxBackoff time.Duration // default 1 min
	MaxResult  int           // bytes of the result as JSON; a larger one is an error of the call; default 64 KiB, at most 256 KiB
	// Key, if not "", names the call: a second submission under the same key, by any client of the same name, returns
	// the existing call, as long as its outcome is kept. So a caller that does not know whether its submission arrived
	// can submit again. A call with a key costs two documents, one without costs one.
	Key string
	// On is the member that runs the call, if it is not "". While it is not joined, or is draining, any member does: a
	// call is lost with nobody.
	On string
	// Delay is how long members let the call wait, from when they first saw it.
	Delay time.Duration
	// OnFailure is a function of [Failure] that runs when the call has failed (not when it was cancelled). The write
	// that ends the call submits it, exactly once, so it survives the caller; like any call it runs at least once,
	// under its own options. Its own OnFailure is ignored, and its result is dropped.
	OnFailure Function
}

// The limits of documents.
const (
	usualAttempts = 5
	usualResult   = 64 << 10
	mostResult    = 256 << 10
	// MostArg is the maximum size of an argument, as JSON.
	MostArg = 256 << 10
)

func (o Options) limits() Limits {
	return Limits{
		Attempts: int64(cmp.Or(o.Attempts, usualAttempts)), TimeoutMS: millis(o.Timeout),
		BackoffMS:    millis(cmp.Or(o.Backoff, time.Second)),
		MaxBackoffMS: millis(cmp.Or(o.MaxBackoff, time.Minute)), ResultBytes: cmp.Or(o.MaxResult, usualResult),
	}
}

// millis rounds a duration up, so that one of less than a millisecond does not become none; a negative one is none.
func millis(d time.Duration) int64 {
	return int64((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

func (o Options) check() error {
	var faults []error
	if o.Attempts < 0 {
		faults = append(faults, fmt.Errorf("Attempts is %d: use 0 for the default, or 1 and more", o.Attempts))
	}
	if o.Timeout < 0 || o.MaxBackoff < 0 || o.Delay < 0 {
		faults = append(faults, errors.New("Timeout, MaxBackoff and Delay must not be negative"))
	}
	if o.MaxResult < 0 || o.MaxResult > mostResult {
		faults = append(faults, fmt.Errorf("MaxResult is %d: at most %d bytes fit into every store: keep larger results elsewhere and return where", o.MaxResult, mostResult))
	}
	return errors.Join(faults...)
}

// handler is what follows a failed call.
func (o Options) handler() (*Handler, error) {
	if o.OnFailure == nil {
		return nil, nil //nolint:nilnil // no handler is no fault
	}
	d := o.OnFailure.definition()
	if d.takes != reflect.TypeFor[Failure]() {
		return nil, fmt.Errorf("OnFailure: function %s takes %s: it must take a call.Failure", d.name, d.takes)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("OnFailure: %w", err)
	}
	return &Handler{Function: d.name, Limits: d.options.limits()}, nil
}

func checkFunctionName(name string) error {
	if err := cluster.CheckName(name); err != nil {
		return fmt.Errorf("name of a function: %w", err)
	}
	return nil
}

// The errors that a caller can act on.
var (
	// ErrCancelled is the outcome of a cancelled call.
	ErrCancelled = errors.New("the call was cancelled")
	// ErrTimeout is the outcome of a call whose last attempt took longer than its timeout.
	ErrTimeout = errors.New("the call timed out")
	// ErrGone reports that the call does not exist any more: its outcome was collected, or its retention ended.
	ErrGone = errors.New("there is no such call: its outcome was collected, or was kept long enough")
	// ErrClosed reports that the client was closed.
	ErrClosed = errors.New("the client is closed")
)

// Causes with which the ctx of a run ends, in addition to those of package work; read them with context.Cause.
var (
	CauseCancelled = errors.New("the call was cancelled")
	CauseReplaced  = errors.New("the call is not this run's any more")
)

// Error is the outcome of a failed call.
type Error struct {
	Call     string
	Function string
	Attempts int64
	Member   cluster.MemberID // the member of the last run
	Message  string
	TimedOut bool
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("call %s of %s failed, attempt %d on %s: %s", e.Call, e.Function, e.Attempts, e.Member,
		e.Message)
}

// Is reports whether target is ErrTimeout and the last attempt took too long.
func (e *Error) Is(target error) bool { return target == ErrTimeout && e.TimedOut }

// Permanent marks an error of a function as final: no further attempt helps. A nil error stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}
