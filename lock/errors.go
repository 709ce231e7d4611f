package lock

import (
	"errors"
	"fmt"
)

// The errors that a caller can act on. They come wrapped with the name of the lock.
var (
	// ErrHeld is returned by TryAcquire: another process holds the lock, or waits for it.
	ErrHeld = errors.New("held by others")
	// ErrLost is the cause with which a lock's context ends when the process can no longer prove that it holds the lock.
	ErrLost = errors.New("the lock is lost: no sign of life was acknowledged in time")
	// ErrReleased is the cause with which the context of a released lock ends.
	ErrReleased = errors.New("the lock was released")
	// ErrCrowded reports that too many claims wait already.
	ErrCrowded = fmt.Errorf("%d claims wait already: try again later", maxWaiting)
	// ErrClosed reports that the client was closed.
	ErrClosed = errors.New("the client of the locks is closed")
)

// SizeError refuses a semaphore if its name is in use with another size.
type SizeError struct {
	Size int // in use
	Want int // requested
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d places, and %d were asked for: the size changes only while nobody holds it and nobody waits; use %d, or another name", e.Size, e.Want, e.Size)
}
