package zookeeper

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/store/refusal"
	"github.com/rota-run/rota/store"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// TestWhatErrorsProve lists which errors of the library prove that a change was not made, and which leave it unknown.
func TestWhatErrorsProve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		unknown bool
		is      error
	}{
		{zk.ErrNoServer, false, store.ErrUnavailable},    // only for requests that were still queued
		{zk.ErrInvalidPath, false, store.ErrUnavailable}, // the library looks before it sends
		{zk.ErrNotEmpty, false, zk.ErrNotEmpty},
		{zk.ErrConnectionClosed, true, nil},
		{zk.ErrClosing, true, nil}, // for queued requests and for sent ones
		{io.EOF, true, nil},
		{io.ErrShortWrite, true, nil},
		{errors.New("unknown error: -7"), true, nil}, // the server's own timeout
		{zk.ErrNoNode, false, zk.ErrNoNode},
		{zk.ErrBadVersion, false, zk.ErrBadVersion},
		{zk.ErrNoAuth, false, zk.ErrNoAuth},
		{zk.ErrSessionExpired, false, store.ErrUnavailable},
		{zk.ErrSessionMoved, false, store.ErrUnavailable},
	} {
		err := outcome(classify(c.err), false)
		if closed := outcome(classify(c.err), true); errors.Is(closed, store.ErrUnknown) != c.unknown {
			t.Errorf("%v of a closed handle: %v", c.err, closed)
		}
		if errors.Is(err, store.ErrUnknown) != c.unknown || !errors.Is(err, c.err) || c.is != nil &&
			!errors.Is(err, c.is) {
			t.Errorf("%v: %v, want unknown %v and %v", c.err, err, c.unknown, c.is)
		}
	}
	for _, err := range []error{&awayError{}, &awayError{cause: context.Canceled, last: io.EOF}, errExpired} {
		if err := outcome(err, false); errors.Is(err, store.ErrUnknown) {
			t.Errorf("%v was never sent", err)
		}
	}
	if err := outcome(errLinkClosed, true); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed link: %v, want ErrClosed", err)
	}
	gone := &awayError{cause: context.Canceled}
	if err := outcome(gone, true); !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrClosed) {
		t.Errorf("whose ctx ended before the handle: %v", err)
	}
	c, closed := &conn{life: inner.NewLife()}, &conn{life: inner.NewLife()}
	closed.life.End()
	if err := c.lost(&sentError{io.EOF}); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("a read without an answer: %v", err)
	}
	if err := c.lost(&sentError{context.Canceled}); !errors.Is(err, context.Canceled) ||
		errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read whose ctx ended: %v", err)
	}
	for _, err := range []error{errExpired, errLinkClosed, zk.ErrSessionExpired} {
		if err := (&lease{c: c}).failed(err); !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("a write of a lease that has ended: %v", err)
		}
		if err := (&lease{c: closed}).failed(err); errors.Is(err, store.ErrSession) {
			t.Errorf("a write of a lease whose handle is closed: %v", err)
		}
	}
}

// TestReadsOfOneConnection: what was read counts if the connection was the same all the time, and is read again if it
// was not.
func TestReadsOfOneConnection(t *testing.T) {
	t.Parallel()
	away := &awayError{}
	for _, c := range []struct {
		changes int     // during the first reads there is another connection
		answers []error // to each read
		want    error
	}{
		{0, []error{nil}, nil},
		{2, []error{zk.ErrNoNode, nil, nil}, nil},
		{0, []error{zk.ErrNoNode}, zk.ErrNoNode},
		{0, []error{&sentError{io.EOF}, nil}, nil},
		{1, []error{away}, away},
	} {
		s, n := &conn{link: &link{gen: 7}, life: inner.NewLife()}, 0
		wait := func(context.Context) (uint64, error) { return s.link.gen, nil }
		err := s.onOne(t.Context(), wait, func() error {
			if n++; n <= c.changes {
				s.link.gen++
			}
			return c.answers[min(n, len(c.answers))-1]
		})
		if !errors.Is(err, c.want) || n != len(c.answers) {
			t.Errorf("answers %v, %d changes: %v after %d reads", c.answers, c.changes, err, n)
		}
	}
}

// TestOpenRefusesOptions gives options that Open refuses before it connects.
func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	cases := map[string]refusal.Case[Options]{
		"no server":  refusal.Says(Options{}, nil, "no server"),
		"a list":     refusal.Says(Options{Servers: []string{"a:b:c"}}, nil, "host:port"),
		"no host":    refusal.Says(Options{Servers: []string{":2181"}}, nil, "host:port"),
		"user alone": refusal.Says(Options{Servers: []string{"zk"}, User: "u"}, nil, "give both"),
		"a user with a :": refusal.Says(Options{Servers: []string{"zk"}, User: "u:v", Password: refusal.Secret}, nil,
			"colon"),
	}
	for path, part := range map[string]string{ // order-free: each is a test of its own
		"/": "a node of its own", "rota": `"/rota"`, "/a//b": "segment", "/a/../b": "segment",
		"/zookeeper/x":                 "for itself",
		"/" + strings.Repeat("p", 200): "at most 200",
	} {
		cases[path] = refusal.Says(Options{Servers: []string{"zk"}, Path: path}, nil, part)
	}
	refusal.All(t, Open, cases)
	if err := checkPath("/" + strings.Repeat("p", 199)); err != nil {
		t.Errorf("200 bytes: %v", err)
	}
}
