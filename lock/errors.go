package lock

import (
	"errors"
	"fmt"
)

// The errors that a caller can act on. They come wrapped with the name of the lock.
var (
	// ErrHeld answers TryAcquire: somebody holds it, or stands in the line for it.
	ErrHeld = errors.New("held by others")
	// ErrLost is the cause with which what is done under a lock ends: the process can no longer prove that it holds it.
	ErrLost = errors.New("the lock is lost: no sign of life was acknowledged in time")
	// ErrReleased is the cause with which the context of a lock ends that was released.
	ErrReleased = errors.New("the lock was released")
	// ErrCrowded: too many wait already.
	ErrCrowded = fmt.Errorf("%d claims wait already: try again later", maxWaiting)
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("the client of the locks is closed")
)

// SizeError refuses a semaphore of another size than the one that is in use under its name.
type SizeError struct {
	Size int // that is in use
	Want int // that was asked for
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d places, and %d were asked for: the size changes only while nobody holds it and nobody waits; use %d, or another name", e.Size, e.Want, e.Size)
}
