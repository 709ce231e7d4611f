package call

import (
	"context"
	"iter"
	"time"
)

// mapping is one Map under way.
type mapping[A, R any] struct {
	f           Func[A, R]
	to          Target
	window      int
	outstanding []*item[R] // in order of the arguments
}

// item is one call of a Map.
type item[R any] struct {
	done   chan struct{} // closed when what follows is set
	call   *Call[R]      // nil if it was not submitted
	result R
	err    error
}

func (m *mapping[A, R]) run(ctx context.Context, args iter.Seq[A], yield func(R, error) bool) {
	ctx, stop := context.WithCancel(ctx)
	next, end := iter.Pull(args)
	defer end()
	defer m.abandon()
	defer stop() // before abandon: nothing new is submitted
	for more := true; ; {
		for more && len(m.outstanding) < m.window && ctx.Err() == nil {
			var arg A
			if arg, more = next(); more {
				m.outstanding = append(m.outstanding, m.start(ctx, arg))
			}
		}
		if len(m.outstanding) == 0 {
			if more {
				var none R
				yield(none, context.Cause(ctx))
			}
			return
		}
		first := m.outstanding[0]
		select {
		case <-first.done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // even if first is done: who waited for it may have stopped because of ctx, and the call goes on
			var none R
			yield(none, context.Cause(ctx))
			return
		}
		m.outstanding = m.outstanding[1:]
		if !yield(first.result, first.err) {
			return
		}
	}
}

// start submits a call and waits for it. A submission under way goes on when ctx ends: if it were cut short, nobody
// would know whether there is a call to cancel.
func (m *mapping[A, R]) start(ctx context.Context, arg A) *item[R] {
	i := &item[R]{done: make(chan struct{})}
	go func() {
		defer close(i.done)
		if i.call, i.err = m.f.Submit(m.to.Calls().ctx, m.to, arg); i.err == nil {
			i.result, i.err = i.call.Wait(ctx)
		}
	}()
	return i
}

// abandonWithin bounds how long the calls of a Map that was left are tried to be cancelled.
const abandonWithin = 30 * time.Second

// abandon cancels what is outstanding. The store may be slow, so nobody waits for it but Client.Close.
func (m *mapping[A, R]) abandon() {
	if len(m.outstanding) == 0 {
		return
	}
	left, c := m.outstanding, m.to.Calls()
	c.background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, abandonWithin)
		defer cancel()
		for _, i := range left {
			<-i.done
			if i.call == nil {
				continue
			}
			if err := i.call.Cancel(ctx); err != nil {
				c.log.Warn("cancel a call of a Map that was left", "call", i.call.ID(), "err", err)
			}
		}
	})
}
