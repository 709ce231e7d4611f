package protocol

import "context"

// Leased is the context of what may be done only under a lease. Its Err and Done look at the clock: a process that was
// suspended finds the lease over before one of its timers has fired. A context derived from it ends a moment later, so
// it has to be the outermost.
type Leased struct {
	context.Context
	// Look ends Context if the lease is over. It is called only until then.
	Look func()
}

func (l Leased) look() context.Context {
	if l.Context.Err() == nil {
		l.Look()
	}
	return l.Context
}

// Err implements context.Context.
func (l Leased) Err() error { return l.look().Err() }

// Done implements context.Context.
func (l Leased) Done() <-chan struct{} { return l.look().Done() }
