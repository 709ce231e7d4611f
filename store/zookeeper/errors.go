package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/remote"
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

// sentError says that a request may have been sent and was not answered: what it changes may be changed now, later or
// never.
type sentError struct{ err error }

func (e *sentError) Error() string { return "no answer: " + e.err.Error() }
func (e *sentError) Unwrap() error { return e.err }

// refusedError is a request that the library dropped before it was sent.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "not sent: " + e.err.Error() }
func (e *refusedError) Unwrap() []error {
	return []error{store.ErrUnavailable, e.err}
}

// classify says what an error of the library proves. The server's answers pass as they are: each of them means that
// nothing was changed. ErrNoServer is given only to requests that still lay in the queue. Anything else can come before
// or after the request has left.
func classify(err error) error {
	if errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrInvalidPath) {
		return &refusedError{err}
	}
	if answered(err) {
		return err
	}
	return &sentError{err}
}

// answered reports whether the server gave this answer. ErrClosing is not among them, since the library uses it for
// requests that were sent too.
func answered(err error) bool {
	for _, a := range []error{
		zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists, zk.ErrNotEmpty,
		zk.ErrSessionExpired,
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

// diagnose says what is wrong with the servers, and what to try.
func diagnose(err error) error {
	var away *awayError
	if !errors.As(err, &away) || away.last == nil {
		return unwrapSent(explain(err))
	}
	var shake *handshakeError
	var record tls.RecordHeaderError
	hint := remote.CertificateHint(away.last)
	switch {
	case hint != "":
		return fmt.Errorf("%w: %s", err, hint)
	case errors.Is(away.last, errNotZooKeeper):
		return fmt.Errorf("%w: look at the port (2181 unless configured otherwise), and whether it wants TLS", err)
	case errors.As(away.last, &shake) && errors.Is(away.last, io.EOF):
		return fmt.Errorf("%w: the server closes new connections: it does not serve (no quorum: start more of the ensemble), wants TLS, or has too many clients (maxClientCnxns)", err)
	case errors.As(away.last, &record), errors.Is(away.last, io.EOF): // the handshake of TLS failed
		return fmt.Errorf("%w: the port does not speak TLS: use the server's secureClientPort, or leave TLS out", err)
	case errors.As(away.last, &shake) && speaksHTTP(shake.addr):
		return fmt.Errorf("%w: %w: it is an HTTP server; look at the port (2181 unless configured otherwise)", err,
			errNotZooKeeper)
	case errors.As(away.last, &shake):
		return fmt.Errorf("%w: the server takes the connection and does not answer: it hangs, has no quorum, or is not ZooKeeper", err)
	}
	return fmt.Errorf("%w: look at the addresses, at firewalls, and whether the servers run", err)
}

// unwrapSent leaves out that a request may have been done: what Open does can be done again.
func unwrapSent(err error) error {
	var sent *sentError
	if !errors.As(err, &sent) {
		return err
	}
	if strings.Contains(sent.err.Error(), "unknown error: -6") {
		return fmt.Errorf("the server is too old: 3.5 or newer is needed: %w", sent.err)
	}
	return fmt.Errorf("the server was there and went away: %w: %w", store.ErrUnavailable, sent.err)
}

// speaksHTTP reports whether a web server listens there. Those wait for the end of the handshake's first line, and so
// say nothing.
func speaksHTTP(addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	answer := make([]byte, len("HTTP/"))
	if c.SetDeadline(time.Now().Add(time.Second)) != nil {
		return false
	}
	if _, err := io.WriteString(c, "HEAD / HTTP/1.0\r\n\r\n"); err != nil {
		return false
	}
	_, err = io.ReadFull(c, answer)
	return err == nil && string(answer) == "HTTP/"
}
