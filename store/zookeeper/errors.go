package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
)

// The errors of a link without a session. Nothing was sent.
var (
	errLinkClosed = errors.New("the connection is closed")
	errExpired    = errors.New("the session has expired")
)

// awayError says that there is no connection. Nothing was sent.
type awayError struct {
	cause error // of the ctx, if it ended before; else the wait was over
	last  error // why there is none, if known
}

func (e *awayError) Error() string {
	switch {
	case e.last != nil:
		return fmt.Sprintf("no connection to ZooKeeper: %v", e.last)
	case e.cause != nil:
		return fmt.Sprintf("no connection to ZooKeeper: %v", e.cause)
	}
	return "no connection to ZooKeeper"
}

func (e *awayError) Unwrap() []error {
	errs := []error{store.ErrUnavailable}
	if e.cause != nil {
		errs = append(errs, e.cause)
	}
	return errs
}

// sentError says that a request may have been sent and was not answered: what it changes may be changed now, later or never.
type sentError struct{ err error }

func (e *sentError) Error() string { return "no answer: " + e.err.Error() }
func (e *sentError) Unwrap() error { return e.err }

// refusedError is a request that the library dropped before it was sent.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "not sent: " + e.err.Error() }
func (e *refusedError) Unwrap() []error {
	return []error{store.ErrUnavailable, e.err}
}

// classify says what an error of the library proves. The server's answers pass as they are: each of them means that nothing was changed. ErrNoServer is
// given only to requests that still lay in the queue. Anything else can come before or after the request has left.
func classify(err error) error {
	if errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrInvalidPath) {
		return &refusedError{err}
	}
	if answered(err) {
		return err
	}
	return &sentError{err}
}

// answered reports whether the server gave this answer. ErrClosing is not among them, since the library uses it for requests that were sent too.
func answered(err error) bool {
	for _, a := range []error{
		zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrSessionExpired,
		zk.ErrInvalidACL, zk.ErrAuthFailed, zk.ErrSessionMoved, zk.ErrBadArguments, zk.ErrAPIError,
	} {
		if errors.Is(err, a) {
			return true
		}
	}
	return false
}

// failed turns the error of a call that changes something into one of the three outcomes.
func (c *conn) failed(err error) error { return outcome(err, c.isClosed()) }

func outcome(err error, closed bool) error {
	var sent *sentError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &sent):
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	case errors.Is(err, errLinkClosed), closed && !isContext(err):
		return store.ErrClosed
	}
	return explain(err)
}

// lost turns the error of a call that changes nothing into what the caller gets.
func (c *conn) lost(err error) error {
	var sent *sentError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLinkClosed), c.isClosed() && !isContext(err):
		return store.ErrClosed
	case errors.As(err, &sent) && !isContext(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return explain(err)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// explain says what to try, for answers that a person must act on.
func explain(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		return fmt.Errorf("the server refuses access: give the user and password that the store was made with, or look at its ACL with getAcl: %w", err)
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrSessionMoved):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
