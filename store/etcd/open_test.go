package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/refusal"
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
		c := must.Get(grpc.NewClient("passthrough:///nobody", options...))(t)
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

// TestClosedLeaseEndsItsStream: the server would else serve it as long as the handle lives.
func TestClosedLeaseEndsItsStream(t *testing.T) {
	t.Parallel()
	streaming, cancel := context.WithCancel(t.Context())
	(&lease{turn: make(chan struct{}, 1), cancel: cancel}).Close()
	if streaming.Err() == nil {
		t.Error("the stream of a closed lease goes on")
	}
}

// TestBadOptions opens with options that are refused before any server is asked.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	at := func(o Options, endpoints ...string) Options {
		o.Endpoints = endpoints
		return o
	}
	plain, here := Options{}, "127.0.0.1:1"
	refusal.All(t, Open, map[string]refusal.Case[Options]{
		"no endpoint":             refusal.Says(plain, nil, "no endpoint", "127.0.0.1:2379"),
		"password in an endpoint": refusal.Says(at(plain, "me:"+refusal.Secret+"@h:1"), nil, "endpoint 1", "host:port"),
		"endpoint with a scheme":  refusal.Says(at(plain, "http://h:1"), nil, "endpoint 1", "host:port"),
		"endpoint without host":   refusal.Says(at(plain, "a:1", ":2379"), nil, "endpoint 2", "host:port"),
		"bad prefix":              refusal.Says(at(Options{Prefix: "a b"}, here), nil, "prefix", "not allowed"),
		"user alone":              refusal.Says(at(Options{User: "me"}, here), nil, "give both"),
		"password alone":          refusal.Says(at(Options{Password: refusal.Secret}, here), nil, "give both"),
	})
	o := must.Get(at(Options{Prefix: "/a/b/", TLS: &tls.Config{}}, "h").withDefaults())(t)
	if o.Prefix != "a/b" || o.urls()[0] != "https://h:2379" {
		t.Errorf("prefix %q, servers %q", o.Prefix, o.urls())
	}
	if c := newNamedTLS(&tls.Config{ServerName: "n"}).Clone().(namedTLS); c.name != "n" {
		t.Errorf("a clone asks the server for the name %q", c.name)
	}
}
