package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
)

// Because adds the reason why ctx has ended, if it has, to an error that came about without it.
func Because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return fmt.Errorf("%w: %w", err, context.Cause(ctx))
}

// NotDone is the error of a call whose preparation failed: whatever became of the preparation, what the caller asked
// for was not begun. So the result is never store.ErrUnknown; it is store.ErrUnavailable instead.
func NotDone(err error) error {
	if !errors.Is(err, store.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, preparation{err})
}

// preparation is an error without store.ErrUnknown among what it wraps; the cause that ended a ctx stays.
type preparation struct{ err error }

func (p preparation) Error() string { return p.err.Error() }

// Is and As look at what is wrapped. There is no Unwrap, by which errors.Is would find what is hidden.
func (p preparation) Is(target error) bool {
	return target != store.ErrUnknown && errors.Is(p.err, target)
}

func (p preparation) As(target any) bool { return errors.As(p.err, target) }

// CheckSize refuses more than most bytes with store.ErrTooLarge.
func CheckSize(b []byte, most int) error {
	if len(b) > most {
		return fmt.Errorf("%d bytes, at most %d: %w", len(b), most, store.ErrTooLarge)
	}
	return nil
}

// Wrap puts what was asked for in front of the error of a call that failed; for a defer at the top of the call, with
// its named result.
func Wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}

// Place is where a store lies, for the errors of its calls.
type Place string

// Failed is the error of a call that failed, with what was asked for and where; nil stays nil.
func (p Place) Failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", fmt.Sprintf(format, args...), p, err)
}
