package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
)

func TestConnectionsLeaveFilesForTheMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted int
		files  uint64
		want   int
	}{
		{0, 0, 128}, {0, 1 << 40, 128}, {0, 1024, 128}, {0, 256, 64}, {0, 8, 4}, {0, 1, 4}, {2, 1, 2}, {500, 1024, 256},
		{-1, 1 << 63, 128},
	} {
		if got := connections(c.wanted, c.files); got != c.want {
			t.Errorf("%d wanted of %d files: got %d, want %d", c.wanted, c.files, got, c.want)
		}
	}
}

// pipes is a listener whose connections are pipes. Dial returns when the server has accepted.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const ask = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"

// TestMoreConnectionsThanAllowedWait: one over the bound waits, and gets its turn when one of the others has its
// answer, which is its last then.
func TestMoreConnectionsThanAllowedWait(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		gate, l := make(chan struct{}), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- Serve(ctx, l, Config{Value: func() cluster.Value { return cluster.Value{} }, Connections: 2,
				Ready: func() []string { <-gate; return nil }})
		}()
		answers := make(chan string, 3)
		accepted := 0
		var mu sync.Mutex
		for range 3 {
			go func() {
				c, err := l.dial(ctx)
				if err != nil {
					return
				}
				defer c.Close()
				mu.Lock()
				accepted++
				mu.Unlock()
				if _, err := io.WriteString(c, ask); err != nil {
					return
				}
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					answers <- err.Error()
					return
				}
				answers <- fmt.Sprintf("%s, last: %v", res.Status, res.Close)
			}()
		}
		synctest.Wait()
		mu.Lock()
		if accepted != 2 {
			t.Errorf("%d connections were accepted, want 2", accepted)
		}
		mu.Unlock()
		close(gate)
		for i := range 3 {
			if got := <-answers; i < 2 && got != "200 OK, last: true" || i == 2 && got[:6] != "200 OK" {
				t.Errorf("answer %d: %s", i, got)
			}
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestTheEndAnswersWhoHasAsked: a request in flight has its answer, and a stream does not delay the end.
func TestTheEndAnswersWhoHasAsked(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		gate, l := make(chan struct{}), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- Serve(ctx, l, Config{Value: func() cluster.Value { return cluster.Value{} },
				Local: func() any { <-gate; return nil }})
		}()
		var conns []*bufio.Reader
		for _, path := range []string{"status", "events"} {
			c := must.Get(l.dial(ctx))(t)
			defer c.Close()
			must.Succeed(t, must.Err(io.WriteString(c, "GET /v1/"+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")))
			conns = append(conns, bufio.NewReader(c))
		}
		must.Succeed(t, must.Err(http.ReadResponse(conns[1], nil)))
		go func() { _, _ = conns[1].WriteTo(io.Discard) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		began := time.Now()
		close(gate)
		if res, err := http.ReadResponse(conns[0], nil); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%+v, %v", res, err)
		}
		if err := <-served; err != nil || time.Since(began) >= time.Second {
			t.Errorf("it ended after %v: %v", time.Since(began), err)
		}
	})
}

// TestAnIdleConnectionGivesWay: a connection that is kept for a further request does not keep another one waiting.
func TestAnIdleConnectionGivesWay(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- Serve(ctx, l, Config{Value: func() cluster.Value { return cluster.Value{} }, Connections: 2})
		}()
		var conns []net.Conn
		began := time.Now()
		for i := range 3 {
			c := must.Get(l.dial(ctx))(t)
			conns = append(conns, c)
			synctest.Wait() // the idle one has given way
			must.Succeed(t, must.Err(io.WriteString(c, ask)))
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("connection %d: %v, %v", i, res, err)
			}
			if res.Close {
				t.Errorf("connection %d ends with its answer, though there is room", i)
			}
			must.Succeed(t, must.Err(io.ReadAll(res.Body)))
			synctest.Wait()
		}
		if waited := time.Since(began); waited >= idleTimeout {
			t.Errorf("the third connection waited %v: the idle one has only timed out", waited)
		}
		if _, err := conns[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the idle connection: %v, want that it is closed", err)
		}
		for _, c := range conns {
			c.Close()
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// broken is a listener that cannot accept.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, syscall.EMFILE }

// TestAConnectionThatCouldNotBeAcceptedTakesNoRoom: a process without file descriptors serves again when it has some.
func TestAConnectionThatCouldNotBeAcceptedTakesNoRoom(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := limit(broken{}, &http.Server{}, 1) //nolint:gosec // it serves nobody
		for range 3 {
			if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
				t.Fatalf("got %v", err)
			}
		}
		p, ended := newPipes(), make(chan error, 1)
		l = limit(p, &http.Server{}, 1) //nolint:gosec // it serves nobody
		go func() { _, _ = p.dial(t.Context()) }()
		must.Succeed(t, must.Err(l.Accept()))
		go func() { ended <- must.Err(l.Accept()) }() // there is no room
		synctest.Wait()
		must.Succeed(t, l.Close())
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed while there is no room: %v", err)
		}
	})
}

// TestRecentValues: a stream resumes from each of the most recent values, and from no other.
func TestRecentValues(t *testing.T) {
	t.Parallel()
	var r recent
	var v cluster.Value
	old := v
	const last = maxRecent + 10
	for range last {
		v, _ = v.Apply(values.Entry(v, 0))
		r.keep(v)
	}
	r.keep(old)
	r.keep(v)
	for i := range last + 2 {
		got, ok := r.find(strconv.Itoa(i))
		if want := i > last-maxRecent && i <= last; ok != want || ok && int(got.Index()) != i {
			t.Errorf("%d: found %t, want %t, at index %d", i, ok, want, got.Index())
		}
	}
	if len(r.values) != maxRecent {
		t.Errorf("%d values are kept, want %d", len(r.values), maxRecent)
	}
}

// stuck is a journal that does not answer until its gate opens.
type stuck struct{ gate chan struct{} }

func (s stuck) Append(context.Context, ...journal.Record) error { return nil }

func (s stuck) Read(context.Context, journal.Query) ([]journal.Record, error) {
	<-s.gate
	return nil, nil
}

// TestHeavyRequestsAreBounded: one more of a kind is refused and told when to try again; others are answered.
func TestHeavyRequestsAreBounded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		j := stuck{make(chan struct{})}
		h := Handler(Config{Value: func() cluster.Value { return cluster.Value{} }, Journal: j})
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
			return w
		}
		first := make(chan int, maxHeavy)
		for range maxHeavy {
			go func() { first <- get("/v1/journal").Code }()
		}
		synctest.Wait()
		if w := get("/v1/journal"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one too many: %d, %v", w.Code, w.Header())
		}
		for _, path := range []string{"/v1/tasks", "/v1/members", "/v1/job?job=x", "/readyz", "/healthz"} {
			if w := get(path); w.Code == http.StatusServiceUnavailable {
				t.Errorf("%s: %d beside journals", path, w.Code)
			}
		}
		close(j.gate)
		for range maxHeavy {
			if code := <-first; code != http.StatusOK {
				t.Errorf("got %d", code)
			}
		}
		if w := get("/v1/journal"); w.Code != http.StatusOK {
			t.Errorf("the next one: %d", w.Code)
		}
	})
}

// TestARequestThatPanicsGivesItsPlaceBack: four of them must not shut the room for good.
func TestARequestThatPanicsGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	calls := 0
	h := newRoom(1).bound(func(http.ResponseWriter, *http.Request) {
		if calls++; calls == 1 {
			panic(http.ErrAbortHandler)
		}
	})
	ask := func() int {
		defer func() { _ = recover() }() // as the server does
		w := httptest.NewRecorder()
		h(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return w.Code
	}
	ask()
	if code := ask(); code != http.StatusOK {
		t.Errorf("after a panic: %d", code)
	}
}
