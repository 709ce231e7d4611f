package call

import (
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// The errors that a caller can act on.
var (
	// ErrCancelled is how a call ends that was cancelled.
	ErrCancelled = errors.New("the call was cancelled")
	// ErrTimeout is how a call ends whose last attempt took longer than its timeout.
	ErrTimeout = errors.New("the call timed out")
	// ErrGone says that there is no such call any more: its outcome was collected, or nobody did so for as long as it is kept.
	ErrGone = errors.New("there is no such call: its outcome was collected, or was kept long enough")
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("the client is closed")
)

// Causes with which the ctx of a run ends, besides those of package work; read them with context.Cause.
var (
	CauseCancelled = errors.New("the call was cancelled")
	CauseReplaced  = errors.New("the call is not this run's any more")
)

// Error is how a call ended that failed.
type Error struct {
	Call     string
	Function string
	Attempts int64
	Member   cluster.MemberID // who ran it last
	Message  string
	TimedOut bool
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("call %s of %s failed, attempt %d on %s: %s", e.Call, e.Function, e.Attempts, e.Member, e.Message)
}

// Is tells that the error is ErrTimeout when the last attempt took too long.
func (e *Error) Is(target error) bool { return target == ErrTimeout && e.TimedOut }

// Permanent marks an error of a function: no further attempt may help. A nil error stays nil.
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
