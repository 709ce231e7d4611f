package fold

import (
	"context"
	"strings"
)

// ear is one who watches.
type ear struct {
	prefix string
	hint   func()
}

// hint tells those who watch a key; all, if it is "". s.mu is held.
func (s *Rows) hint(key string) {
	for e := range s.ears { // order-free: each gets its own
		if key == "" || strings.HasPrefix(key, e.prefix) {
			e.hint()
		}
	}
}

// tail reads the journal as it grows, while somebody watches.
type tail struct {
	ctx context.Context //nolint:containedctx // its cause is why it has ended
	end context.CancelCauseFunc
}

// Watch implements driver.Documents.
func (s *Rows) Watch(ctx context.Context, prefix string, hint func()) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e := &ear{prefix, hint}
	t := s.listen(e)
	defer s.unlisten(e)
	hint()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// listen adds one who watches, and begins to read for it if nobody does.
func (s *Rows) listen(e *ear) *tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ears[e] = struct{}{}
	if s.tail == nil || s.tail.ctx.Err() != nil {
		t := &tail{}
		t.ctx, t.end = context.WithCancelCause(s.life.Ctx)
		s.life.Begin(func() { s.follows(t) })
		s.tail = t
	}
	return s.tail
}

func (s *Rows) unlisten(e *ear) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.ears, e); len(s.ears) == 0 {
		s.tail.end(nil)
	}
}

// follows reads the journal when it has grown, until that fails: something may have been missed then.
func (s *Rows) follows(t *tail) {
	grown := make(chan struct{}, 1)
	s.life.Begin(func() {
		t.end(s.journal.Watch(t.ctx, func() {
			select {
			case grown <- struct{}{}:
			default:
			}
		}))
	})
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-grown:
		}
		ctx, cancel := context.WithTimeoutCause(t.ctx, s.o.Timeout, errTimeout)
		err := s.catchUp(ctx, false)
		cancel()
		if err != nil {
			t.end(err)
		}
	}
}
