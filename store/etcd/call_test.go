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
