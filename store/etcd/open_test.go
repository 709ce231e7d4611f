package etcd

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestPausesStayShort: however long no server was there, a member is back soon after one is, and meanwhile does not
// knock all the time.
func TestPausesStayShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var knocks []time.Time
		refused := func(context.Context, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			knocks = append(knocks, time.Now())
			return nil, errors.New("connection refused")
		}
		options := append((&conn{lines: &lines{}}).dialOptions(Options{}),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(refused))
		c, err := grpc.NewClient("passthrough:///nobody", options...)
		must.Succeed(t, err)
		c.Connect()
		time.Sleep(time.Minute) // waits: in virtual time
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		longest := time.Duration(0)
		for i := 1; i < len(knocks); i++ {
			longest = max(longest, knocks[i].Sub(knocks[i-1]))
		}
		if n := len(knocks); longest > longestPause*13/10 || n < 60 || n > 240 {
			t.Errorf("%d attempts to connect in a minute, the longest pause was %v", n, longest)
		}
	})
}
