package etcd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// TestWhatIsSentAgain: a change that may have been done is sent once; one that was not sent, or was refused for a
// moment, some times.
func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	away := status.Error(codes.Unavailable, "EOF")
	for name, c := range map[string]struct { // order-free: each is a change of its own
		err   error
		sent  bool
		calls int
		want  error
	}{
		"sent":             {away, true, 1, store.ErrUnknown},
		"never sent":       {away, false, attempts, store.ErrUnavailable},
		"without a leader": {rpctypes.ErrGRPCNoLeader, true, attempts, store.ErrUnavailable},
		"refused":          {rpctypes.ErrGRPCLeaseNotFound, true, 1, store.ErrSession},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls, conn := 0, &conn{timeout: time.Minute, lines: &lines{log: slog.New(slog.DiscardHandler)}}
				_, err := change(t.Context(), conn, func(ctx context.Context) (int, error) {
					if calls++; c.sent {
						ctx.Value(postedKey{}).(*posted).set("here")
					}
					return 0, c.err
				})
				if calls != c.calls || !errors.Is(err, c.want) {
					t.Errorf("called %d times, want %d: %v", calls, c.calls, err)
				}
			})
		})
	}
}

// TestSilentLines: a connection from which nothing came since a request was sent is closed, and forgotten.
func TestSilentLines(t *testing.T) {
	t.Parallel()
	for heard, want := range map[time.Duration]int{time.Second: 0, 3 * time.Second: 1} { // order-free: each is a line of its own
		mine, other := net.Pipe()
		ls := &lines{log: slog.New(slog.DiscardHandler), all: map[string]*line{}}
		l := &line{Conn: mine, of: ls, born: time.Now()}
		ls.all[mine.LocalAddr().String()] = l
		l.last.Store(int64(heard))
		ls.giveUp(mine.LocalAddr().String(), l.born.Add(2*time.Second))
		if len(ls.all) != want {
			t.Errorf("heard of after %v, asked after 2s: there are %d lines, want %d", heard, len(ls.all), want)
		}
		_, _ = l.Close(), other.Close()
	}
}

// TestWhatIsAskedAgain: a read, where the server may be there soon.
func TestWhatIsAskedAgain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{rpctypes.ErrGRPCRequestTooManyRequests: true, rpctypes.ErrGRPCNoLeader: true,
		rpctypes.ErrGRPCInvalidAuthToken: true, context.DeadlineExceeded: true,
		status.Error(codes.Unavailable, ""): true, rpctypes.ErrGRPCPermissionDenied: false,
		rpctypes.ErrGRPCCorrupt: false, errors.New("anything"): false} { // order-free: each is judged alone
		if got := passing(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

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
			if got := writeError(ended, err, c.sent); !errors.Is(got, errGaveUp) ||
				errors.Is(got, unknown) != errors.Is(c.want, unknown) {
				t.Errorf("%v (sent: %t), ctx ended: %v, want the cause, and %v", err, c.sent, got, c.want)
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
	for alarm, fine := range map[string]bool{"memberID:1 alarm:NOSPACE": false, "memberID:1 alarm:CORRUPT": false,
		"etcdserver: no leader": true} { // order-free
		if err := checkAlarms([]string{alarm}); (err == nil) != fine || !fine && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", alarm, err)
		}
	}
}
