package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// ErrDamaged marks data that exists but is not what this store wrote. Retrying does not help: restore a snapshot of the
// server.
var ErrDamaged = log.ErrDamaged

// refused reports whether the server proves by its answer that a change was not made, and gives the answer its meaning.
// The server checks all of these before it executes a request. "Database space exceeded" is not among them: see full.
func refused(err error) (meaning error, proof bool) {
	switch {
	case is(err, rpctypes.ErrLeaseNotFound):
		return fmt.Errorf("%w: %w", store.ErrSession, err), true
	case is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %w (the server's --max-request-bytes is below its default)", store.ErrTooLarge, err),
			true
	case is(err, rpctypes.ErrNoLeader), is(err, rpctypes.ErrTooManyRequests), is(err, rpctypes.ErrCorrupt),
		is(err, rpctypes.ErrNotCapable),
		is(err, rpctypes.ErrGRPCNotSupportedForLearner):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err), true
	case is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("%w: grant the user's role readwrite on the store's prefix", err), true
	case is(err, rpctypes.ErrUserEmpty):
		return fmt.Errorf("%w: the server wants a user and a password", err), true
	case is(err, rpctypes.ErrAuthFailed):
		return fmt.Errorf("%w: check user and password", err), true
	case is(err, rpctypes.ErrInvalidAuthToken), is(err, rpctypes.ErrAuthOldRevision), is(err, rpctypes.ErrTooManyOps),
		is(err, rpctypes.ErrEmptyKey), is(err, rpctypes.ErrDuplicateKey):
		return err, true
	}
	return nil, false
}

// full settles what became of a change that was answered with "database space exceeded". A server says that when it
// refuses a change, and also when it has made the one that crossed its quota; in both cases the matter is over. A key
// that still has the version of before proves the first. Other errors come back as they are.
func (c *conn) full(ctx context.Context, err error, op driver.Op) error {
	if !is(err, rpctypes.ErrNoSpace) {
		return err
	}
	rows, failed := c.Read(ctx, driver.Query{Keys: []string{op.Key}})
	if failed == nil && rows.Keys[0].Version == op.If {
		return fmt.Errorf("%w: %w: compact, defragment, and disarm the alarm", store.ErrUnavailable,
			rpctypes.ErrNoSpace)
	}
	return err
}

// is compares answers of the server; the client's library makes a new value of each.
func is(err, known error) bool { return errors.Is(rpctypes.Error(err), rpctypes.Error(known)) }

// renewable reports whether the request was refused only because the client's token is old. The client has fetched
// another one by then.
func renewable(err error) bool {
	return is(err, rpctypes.ErrInvalidAuthToken) || is(err, rpctypes.ErrAuthOldRevision)
}

// writeError gives the error of a change its meaning. sent reports whether the request may have left this machine.
func writeError(ctx context.Context, err error, sent bool) error {
	if meaning, proof := refused(err); proof {
		return inner.Because(ctx, meaning)
	}
	switch {
	case !sent && ctx.Err() != nil:
		return context.Cause(ctx)
	case !sent:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// readError gives the error of a call that changes nothing its meaning.
func readError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if meaning, proof := refused(err); proof {
		return meaning
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// minMajor and minMinor are the oldest version of the server that has what is needed here.
const minMajor, minMinor = 3, 4

// checkServer asks one server for its version, and for alarms. A server that does not tell is taken as it is.
func (c *conn) checkServer(ctx context.Context, o Options) error {
	for _, url := range o.urls() {
		st, err := c.client.Status(clientv3.WithRequireLeader(ctx), url)
		if err != nil {
			c.log.Debug("ask an etcd server for its version", "endpoint", url, "err", err)
			continue
		}
		if err := checkVersion(st.Version); err != nil {
			return err
		}
		if o.ReadOnly {
			return nil
		}
		return checkAlarms(st.Errors)
	}
	return nil
}

func checkVersion(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil {
		return nil //nolint:nilerr // a server that was built by hand may say anything
	}
	if a < minMajor || a == minMajor && b < minMinor {
		return fmt.Errorf("the server is etcd %s: at least %d.%d is needed", version, minMajor, minMinor)
	}
	return nil
}

func checkAlarms(alarms []string) error {
	for _, a := range alarms {
		switch {
		case strings.Contains(a, "NOSPACE"):
			return fmt.Errorf("%w: the server is full and takes no writes (alarm NOSPACE): compact, defragment, and run etcdctl alarm disarm", store.ErrUnavailable)
		case strings.Contains(a, "CORRUPT"):
			return fmt.Errorf("%w: the server has found damage in its data (alarm CORRUPT): restore the member that it names: %s", store.ErrUnavailable, a)
		}
	}
	return nil
}

// openError says what to try. Some causes come as text only, since gRPC keeps no errors of connections.
func openError(ctx context.Context, err error) error {
	hint := remote.ConnectHint(err, "etcd", "first record does not look like a TLS handshake",
		"authentication handshake failed: EOF")
	switch {
	case hint != "":
	case remote.Says(err, "broken pipe"): // the server's reason got lost
		hint = "the server ends the connection: if it wants TLS or a certificate of the client, give them"
	case remote.Says(err, "error reading server preface", "malformed HTTP", "unexpected HTTP status", "frame too large",
		"http2:"):
		hint = "this is not etcd without TLS: check address and port, and try with TLS"
	case status.Code(err) == codes.Unimplemented, remote.Says(err, "unknown service", "Unimplemented"):
		hint = "this speaks gRPC but is not etcd: check address and port"
	}
	return remote.OpenError(ctx, err, "etcd", hint)
}
