package rota

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/call"
)

// The nouns of calls; see package call.
type (
	// Function is a function that a member can run; a [Func] is one.
	Function = call.Function
	// Func is a function with a name, an argument and a result.
	Func[A, R any] = call.Func[A, R]
	// FuncOptions are those of a function's calls.
	FuncOptions = call.Options
	// Call is one call, as its submitter holds it.
	Call[R any] = call.Call[R]
	// CallTarget is where calls are submitted: a [Member] or a [Client].
	CallTarget = call.Target
	// CallError is the outcome of a failed call.
	CallError = call.Error
	// Failure is the argument of FuncOptions.OnFailure.
	Failure = call.Failure
	// CallClient submits the calls of a [CallTarget].
	CallClient = call.Client
)

// How calls end besides with a result; see [Call.Wait].
var (
	ErrCancelled = call.ErrCancelled // the call was cancelled
	ErrTimeout   = call.ErrTimeout   // no attempt ended within FuncOptions.Timeout
	ErrGone      = call.ErrGone      // there is no such call: its outcome was collected, or has expired
	ErrClosed    = call.ErrClosed    // the client is closed

	CauseCancelled = call.CauseCancelled // cause in a function: the call was cancelled
	CauseReplaced  = call.CauseReplaced  // cause in a function: another run of the call has begun
)

// NewFunc names a function, so that it can be called on any member that has it in Config.Functions: what travels is its
// name and its argument, as JSON. Options, at most one, are those of its calls. It may run more than once, see package
// call. ctx ends when this run must stop; [TokenOf] gives the number to fence effects with.
func NewFunc[A, R any](name string, run func(ctx context.Context, arg A) (R, error), o ...FuncOptions) Func[A, R] {
	return call.NewFunc(name, run, o...)
}

// Permanent marks an error of a function: no further attempt may help.
func Permanent(err error) error { return call.Permanent(err) }

// TokenOf returns the fencing token of the function run that ctx belongs to. It grows with each run of the same call.
func TokenOf(ctx context.Context) Token { return Token(call.TokenOf(ctx)) }

// Calls is the client by which this member submits calls; it makes a Member a [CallTarget]. Its queue is the member's
// name.
func (m *Member) Calls() *CallClient { return m.calls }

func newCalls(c Config) (*CallClient, error) {
	calls, err := call.NewClient(c.Store, call.ClientOptions{Queue: c.Member, Logger: c.Logger, Clock: c.Clock})
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	return calls, nil
}
