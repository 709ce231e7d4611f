package etcd

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

var errGaveUp = errors.New("the caller gave up")

// TestAVersionIsItsOwnText: what is no version that the store has given is none of a key, whatever it stands for.
func TestAVersionIsItsOwnText(t *testing.T) {
	t.Parallel()
	for v, want := range map[driver.Version]int64{"": 0, "7": 7, "07": -1, "+7": -1, "0": -1, "-7": -1, "x": -1,
		"9223372036854775808": -1} {
		if got := revision(v); got != want {
			t.Errorf("%q is revision %d, want %d", v, got, want)
		}
	}
}

// TestWhatAnErrorProves is the table of answers: which of them prove that a change that was sent was not made.
func TestWhatAnErrorProves(t *testing.T) {
	t.Parallel()
	unknown, away := store.ErrUnknown, store.ErrUnavailable
	for _, c := range []struct {
		err  error
		sent bool
		want error // nil: a plain refusal
	}{
		{rpctypes.ErrGRPCLeaseNotFound, true, store.ErrSession},
		{rpctypes.ErrGRPCRequestTooLarge, true, store.ErrTooLarge},
		{rpctypes.ErrGRPCNoLeader, true, away},
		{rpctypes.ErrGRPCRequestTooManyRequests, true, away},
		{rpctypes.ErrGRPCCorrupt, true, away},
		{rpctypes.ErrGRPCNotSupportedForLearner, true, away},
		{rpctypes.ErrGRPCPermissionDenied, true, nil},
		{rpctypes.ErrGRPCUserEmpty, true, nil},
		{rpctypes.ErrGRPCAuthFailed, true, nil},
		{rpctypes.ErrGRPCInvalidAuthToken, true, nil},
		{rpctypes.ErrGRPCTooManyOps, true, nil},
		{rpctypes.ErrGRPCNoSpace, true, unknown},
		{rpctypes.ErrGRPCTimeout, true, unknown},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, true, unknown},
		{rpctypes.ErrGRPCTimeoutDueToConnectionLost, true, unknown},
		{rpctypes.ErrGRPCLeaderChanged, true, unknown},
		{rpctypes.ErrGRPCStopped, true, unknown},
		{rpctypes.ErrGRPCUnhealthy, true, unknown},
		{status.Error(codes.Unavailable, "error reading from server: EOF"), true, unknown},
		{status.Error(codes.DeadlineExceeded, "late"), true, unknown},
		{status.Error(codes.Unimplemented, "a proxy"), true, unknown},
		{status.Error(codes.Unavailable, "connection refused"), false, away},
		{errors.New("anything"), false, away},
		{errors.New("anything"), true, unknown},
	} {
		for _, err := range []error{c.err, rpctypes.Error(c.err)} { // as gRPC has it, and as the client has it
			got := writeError(context.Background(), err, c.sent)
			if c.want != nil && !errors.Is(got, c.want) || errors.Is(got, unknown) != errors.Is(c.want, unknown) ||
				errors.Is(got, away) != errors.Is(c.want, away) {
				t.Errorf("%v (sent: %t): %v, want %v", err, c.sent, got, c.want)
			}
			ended, cancel := context.WithCancelCause(context.Background())
			cancel(errGaveUp)
			if got := writeError(ended, err, c.sent); !errors.Is(got, errGaveUp) {
				t.Errorf("%v (sent: %t), ctx ended: %v does not wrap the cause", err, c.sent, got)
			}
			if got := readError(ended, err); !errors.Is(got, errGaveUp) || errors.Is(got, away) {
				t.Errorf("%v of a read, ctx ended: %v", err, got)
			}
		}
	}
}

// TestServerVersions: a server that is too old is refused.
func TestServerVersions(t *testing.T) {
	t.Parallel()
	for version, fine := range map[string]bool{"2.9.0": false, "3.3.27": false, "3.4.0": true, "3.10.1": true,
		"4.0.0": true, "by hand": true} { // order-free
		if err := checkVersion(version); (err == nil) != fine {
			t.Errorf("%s: %v", version, err)
		}
	}
}
