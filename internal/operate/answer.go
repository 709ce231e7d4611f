package operate

import "errors"

// Why a request is not done.
var (
	// ErrRefused: the cluster does not take it, or it would not last.
	ErrRefused = errors.New("refused")
	// ErrKilled: the job was killed. It stays so until it is submitted [Again].
	ErrKilled = errors.New("the job was killed, and stays so until it is submitted again")
	// ErrOlder: a higher version of the job is there.
	ErrOlder = errors.New("a higher version is there")
)

// Answer is what became of a request that was not refused.
type Answer struct {
	Said    string // the request, as the journal has it
	Changed bool   // false: it held already
	Updated bool   // a live job goes on by a new definition
	// Unjournaled is why the journal has no record of it.
	Unjournaled error
	// Unheard is why stages of a flow that have had nothing to do for long were not told. They look by themselves
	// within 20 s.
	Unheard error
}

// RefusedError says why a request is not done.
type RefusedError struct {
	Said   string // the request
	Reason string
	Try    string // a way out; "" where none is known
	Kind   error  // ErrRefused, ErrKilled or ErrOlder
}

// Error is the reason.
func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return e.Kind.Error()
	}
	return e.Kind.Error() + ": " + e.Reason
}

// Unwrap is the kind.
func (e *RefusedError) Unwrap() error { return e.Kind }

func refused(said, reason, try string) error {
	return &RefusedError{Said: said, Reason: reason, Try: try, Kind: ErrRefused}
}

// InvalidError is a request that makes no sense in any cluster: a name that cannot be one.
type InvalidError struct{ Err error }

// Error is the fault.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap is the fault.
func (e *InvalidError) Unwrap() error { return e.Err }
