package elastic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/internal/wait"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

const (
	connectTimeout = 3 * time.Second // of one attempt
	idleFor        = 30 * time.Second
	mostIdle       = 64        // connections to a server that are kept
	mostBytes      = 256 << 20 // of an answer
)

// newClient makes a client that sends a request again by itself only where nothing of it was written to a connection.
// It does that to requests of all methods; those that change something are never GET or HEAD, which it would send again
// in other cases too.
func newClient(o Options) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: connectTimeout, KeepAlive: 10 * time.Second}).DialContext,
			TLSClientConfig:     o.TLS,
			TLSHandshakeTimeout: connectTimeout, MaxIdleConnsPerHost: mostIdle, IdleConnTimeout: idleFor,
		},
	}
}

// request is one call to a server.
type request struct {
	method, path string // the path may have a query
	body         []byte
}

// answer is what a server says.
type answer struct {
	status  int
	body    []byte
	elastic bool // it says that it is Elasticsearch
}

func (a answer) good() bool { return a.status >= 200 && a.status < 300 }

// send makes a request once, to one server; sent reports whether anybody may have executed it.
func (c *conn) send(ctx context.Context, server string, r request) (a answer, sent bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("no answer within %v", c.o.Timeout))
	defer cancel()
	var began atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { began.Store(true) }}
	url := "http://" + server + r.path
	if c.o.TLS != nil {
		url = "https://" + server + r.path
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), r.method, url,
		bytes.NewReader(r.body))
	if err != nil {
		return answer{}, false, err
	}
	c.authorize(req)
	resp, err := c.client.Do(req)
	if err != nil {
		return answer{}, began.Load(), cut(ctx, err)
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, elastic: resp.Header.Get("X-Elastic-Product") == "Elasticsearch"}
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, mostBytes)); err != nil {
		return answer{}, true, cut(ctx, err)
	}
	return a, true, nil
}

func (c *conn) authorize(req *http.Request) {
	req.Header.Set("Content-Type", "application/json")
	switch {
	case c.o.APIKey != "":
		req.Header.Set("Authorization", "ApiKey "+c.o.APIKey)
	case c.o.User != "":
		req.SetBasicAuth(c.o.User, c.o.Password)
	}
}

// cut leaves the address of the request out of an error, which is long, and says why ctx has ended if it has.
func cut(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// change makes a call that changes something. It is made again, of another server, only where it was never sent.
func (c *conn) change(ctx context.Context, r request) (answer, error) { return c.try(ctx, r, false) }

// ask makes a call that changes nothing: of each server, and once more of the first.
func (c *conn) ask(ctx context.Context, r request) (answer, error) { return c.try(ctx, r, true) }

func (c *conn) try(ctx context.Context, r request, reads bool) (answer, error) {
	for attempt := 1; ; attempt++ {
		turn := c.current.Load()
		server := c.o.Servers[turn%uint64(len(c.o.Servers))]
		a, sent, err := c.send(ctx, server, r)
		passing := err == nil && reads && a.status >= 500
		if err == nil && !passing {
			return a, nil
		}
		c.current.CompareAndSwap(turn, turn+1)
		more := attempt < len(c.o.Servers) || reads && attempt == len(c.o.Servers)
		switch {
		case sent && !reads:
			return a, fmt.Errorf("%w: %s: %w", store.ErrUnknown, server, driver.Because(ctx, hint(err)))
		case ctx.Err() != nil:
			return a, context.Cause(ctx)
		case more && wait.For(ctx, time.Duration(attempt-1)*20*time.Millisecond):
			continue
		case passing:
			return a, nil
		}
		return a, fmt.Errorf("%w: %s: %w", store.ErrUnavailable, server, hint(err))
	}
}
