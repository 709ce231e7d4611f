package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
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

var errSilent = errors.New("no answer")

// send makes a request once, to one server; sent reports whether anybody may have executed it.
func (c *conn) send(ctx context.Context, server string, r request) (a answer, sent bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("%w within %v", errSilent, c.o.Timeout))
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

// ErrDamaged marks data that exists but is not what this store wrote: another program changed it.
var ErrDamaged = log.ErrDamaged

// fault is what a server says of a request that it did not do as asked.
type fault struct{ Type, Reason string }

// faultOf reads the fault in an answer.
func faultOf(a answer) fault {
	var b struct{ Error json.RawMessage } // some say it as a text
	var f fault
	if json.Unmarshal(a.body, &b) != nil || json.Unmarshal(b.Error, &f) != nil {
		f.Reason = string(a.body)
	}
	return f
}

// refusal gives an answer to a request that was not done its meaning; proof reports whether it proves that nothing was
// changed.
func (f fault) refusal(status int) (meaning error, proof bool) {
	said := fmt.Errorf("status %d: %s: %.400s", status, f.Type, f.Reason)
	if f.Type == "" {
		said = fmt.Errorf("status %d: %.200q", status, f.Reason)
	}
	switch {
	case f.Type == "cluster_block_exception":
		return fmt.Errorf("%w: %w: %s", store.ErrUnavailable, said, blockHint(f.Reason)), true
	case f.Type == "index_not_found_exception":
		return fmt.Errorf("%w: %w: the index was removed: stop all members, and start them again to begin with an empty store", store.ErrUnavailable, said), true
	case status == 401:
		return fmt.Errorf("%w: check user and password, or the API key", said), true
	case status == 403:
		return fmt.Errorf("%w: grant the user, or the API key, the privileges of docs/stores/elastic.md", said), true
	case status == 413:
		return fmt.Errorf("%w: %w (the server's http.max_content_length is below its default)", store.ErrTooLarge,
			said), true
	case status == 429:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, said), true
	case status >= 300 && status < 500:
		return said, true
	}
	return said, false
}

// blockHint says what to do about what blocks an index or a cluster.
func blockHint(reason string) string {
	switch {
	case strings.Contains(reason, "flood"), strings.Contains(reason, "read-only / allow delete"):
		return "a disk is fuller than its flood stage watermark: free space; the server then unblocks the index"
	case strings.Contains(reason, "read-only"):
		return "somebody made it read-only: set index.blocks.read_only, or cluster.blocks.read_only, to null"
	case strings.Contains(reason, "no master"), strings.Contains(reason, "cluster_manager"),
		strings.Contains(reason, "cluster-manager"):
		return "most of the nodes that can be master must run and reach each other"
	}
	return "see GET /_cluster/health and the settings of the index"
}

// of is refusal as an error; a request of which the answer proves nothing ends with another one.
func (f fault) of(status int, without error) error {
	meaning, proof := f.refusal(status)
	if proof {
		return meaning
	}
	return fmt.Errorf("%w: %w", without, meaning)
}

// writeError gives the answer to a change that was not done, or perhaps was, its meaning.
func writeError(a answer) error { return faultOf(a).of(a.status, store.ErrUnknown) }

// readError gives the answer to a call that changes nothing its meaning.
func readError(a answer) error { return faultOf(a).of(a.status, store.ErrUnavailable) }

// hint adds what to try to an error of a connection.
func hint(err error) error {
	const product = "Elasticsearch or OpenSearch"
	what := remote.ConnectHint(err, product, "HTTP response to HTTPS client")
	switch {
	case what != "":
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), remote.Says(err, "malformed HTTP"):
		what = "if the server wants TLS, try with TLS"
	case errors.Is(err, errSilent):
		what = "check that " + product + " runs there, and most of its nodes that can be master"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, what)
}

// unknown says that a call may have changed something, and why nobody can tell.
func unknown(why error) error {
	if errors.Is(why, store.ErrUnknown) {
		return why
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, why)
}
