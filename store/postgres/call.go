package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/internal/wait"
)

// A call that may be repeated is retried if it fails for a temporary reason.
const (
	attempts   = 5
	firstPause = 25 * time.Millisecond // doubled each time
)

// once makes a call once.
func (w *wire) once(ctx context.Context, st statement, args []any) ([]row, error) {
	c, err := w.workers.get(ctx)
	if err != nil {
		return nil, err
	}
	defer w.workers.put(c)
	return c.exec(ctx, st, args...)
}

// change makes a call that changes something. It is made again only where it is proven that nothing was changed: it was
// never sent, or the server has undone it.
func (w *wire) change(ctx context.Context, st statement, args ...any) ([]row, error) {
	within, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		rows, err := w.once(within, st, args)
		if err == nil {
			return rows, nil
		}
		again := pgconn.SafeToRetry(err) && passing(err) || undone(err)
		if !again || attempt+1 == attempts || !pause(within, firstPause<<attempt) {
			return nil, writeError(ctx, err)
		}
	}
}

// ask makes a call that changes nothing, as often as is sensible. None of its attempts waits longer than the handle's
// timeout for an answer.
func (w *wire) ask(ctx context.Context, st statement, args ...any) ([]row, error) {
	for attempt := 0; ; attempt++ {
		rows, err := w.askOnce(ctx, st, args)
		if err == nil {
			return rows, nil
		}
		if attempt+1 == attempts || !passing(err) || !pause(ctx, firstPause<<attempt) {
			return nil, readError(ctx, err)
		}
	}
}

func (w *wire) askOnce(ctx context.Context, st statement, args []any) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	return w.once(ctx, st, args)
}

// passing reports whether the same call may succeed soon: the server did not answer, or its answer was of this kind.
func passing(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return true
	}
	switch answer.Code {
	case codeStarting, codeShutdown, codeCrashed, codeTooMany, codeNoStatement:
		return true
	}
	return undone(err)
}

// undone reports whether the server has undone a transaction that may succeed when it is made again.
func undone(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (answer.Code == codeSerialization || answer.Code == codeDeadlock)
}

// pause waits about so long; false if ctx has ended.
func pause(ctx context.Context, about time.Duration) bool {
	return wait.For(ctx, about/2+rand.N(about))
}
