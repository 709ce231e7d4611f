package call

import (
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

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
	return fmt.Sprintf("call %s of %s failed, attempt %d on %s: %s", e.Call, e.Function, e.Attempts, e.Member, e.Message)
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
