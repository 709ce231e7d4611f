package tasks

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// round runs one round of a built-in type and returns its host.
func round(t *testing.T, o Options, typ string, config any) (*worktest.Host, error) {
	t.Helper()
	d := define(t, config)
	d.TimeoutMS = 60_000 // who wants to see a round that takes too long says less
	g, host := worktest.NewGrant(t, d)
	return host, worktest.Run(t, Builtin(o)[typ], g)
}

// phasesOf returns the phases for which latency samples came.
func phasesOf(h *worktest.Host, name string) map[string]bool {
	out := map[string]bool{}
	for _, s := range h.Named(name) {
		out[s.Tags["phase"]] = true
	}
	return out
}

// wantDown checks that the round found the target down for that reason, and ended with why: so the task is failing.
func wantDown(t *testing.T, h *worktest.Host, typ, reason string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("a round that found %q ended well", reason)
	}
	if got := h.LastValue(t, typ+".up"); got != 0 {
		t.Errorf("%s.up is %v, want 0", typ, got)
	}
	if got := h.Last(t, typ+".failure").Tags["reason"]; got != reason {
		t.Errorf("reason is %q, want %q", got, reason)
	}
}

func wantUp(t *testing.T, h *worktest.Host, typ string, err error) {
	t.Helper()
	if err != nil || h.LastValue(t, typ+".up") != 1 {
		t.Errorf("got error %v and samples %v, want %s.up 1", err, h.Samples(), typ)
	}
}

func TestHTTPUp(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"method":%q,"body":%q,"host":%q,"items":[{"n":1.0}]}`, r.Method, b, r.Host)
	})
	h, err := round(t, local, "http", object{
		"url": s.URL, "method": "POST", "body": "hello", "headers": object{"Host": "shop.example"},
		"expect": object{"status": []int{200, 204}, "body": "hel", "json": object{
			"method": "POST", "body": "hello", "items.0.n": 1, "/items/0": object{"n": 1}, "host": "shop.example"}},
	})
	wantUp(t, h, "http", err)
	if got := h.LastValue(t, "http.status"); got != 200 {
		t.Errorf("status %v, want 200", got)
	}
	got := phasesOf(h, "http.latency_ms")
	if !got["connect"] || !got["first_byte"] || !got["total"] || got["tls"] {
		t.Errorf("phases %v, want connect, first_byte and total without tls", got)
	}
	if tags := h.Last(t, "http.up").Tags; tags["task"] != "test" || tags["member"] != "m1" {
		t.Errorf("tags %v, want the task and the member", tags)
	}
}

func TestHTTPRefusesInternalAddresses(t *testing.T) {
	t.Parallel()
	touched := make(chan string, 10)
	s := serve(t, func(http.ResponseWriter, *http.Request) { touched <- "the server" })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	h, err := round(t, Options{}, "http", object{"url": "http://localhost:" + port}) // a name: only known when it is connected to
	var refused *AddressError
	if !errors.As(err, &refused) || refused.Kind != "loopback" {
		t.Errorf("got %v, want the address refused as loopback", err)
	}
	wantDown(t, h, "http", "refused", err)
	h, err = round(t, Options{}, "http",
		object{"url": "http://localhost:" + port, "allow": []string{"127.0.0.0/8", "::1"}})
	wantUp(t, h, "http", err)
	if len(touched) != 1 {
		t.Errorf("the server was reached %d times, want once, by the allowed task", len(touched))
	}
	if local.guard(new(faults), nil).transport(time.Second, nil).Proxy != nil {
		t.Error("a proxy would connect to what is refused")
	}
	inner := must.Get(net.Listen("tcp", "127.0.0.2:0"))(t)
	defer inner.Close()
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+inner.Addr().String()+"/latest/meta-data", http.StatusFound)
	})
	h, err = round(t, Options{}, "http", object{"url": s.URL, "allow": []string{"127.0.0.1"}})
	if !errors.As(err, &refused) || refused.Addr != netip.MustParseAddr("127.0.0.2") {
		t.Errorf("got %v, want 127.0.0.2 refused", err)
	}
	wantDown(t, h, "http", "refused", err)
}

func TestHTTPSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(path, []byte("from-file\r\n"), 0o600))
	t.Setenv("TASKS_TEST_TOKEN", "hunter2")
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	config := object{"url": s.URL, "headers": object{"Authorization": "Bearer env:TASKS_TEST_TOKEN", "X-Key": "file:" +
		path, "X-Plain": "a b"}}
	h, err := round(t, local, "http", config)
	wantUp(t, h, "http", err)
	if got.Get("Authorization") != "Bearer hunter2" || got.Get("X-Key") != "from-file" || got.Get("X-Plain") != "a b" {
		t.Errorf("the server got %v", got)
	}
	config["headers"] = object{"Authorization": "env:TASKS_TEST_NO_SUCH"}
	_, err = round(t, local, "http", config)
	if err == nil || !strings.Contains(err.Error(), "header Authorization: read secret env:TASKS_TEST_NO_SUCH") {
		t.Errorf("got %v, want it to say which secret cannot be read", err)
	}
	t.Setenv("TASKS_TEST_TOKEN", "hun\nter2")
	config["headers"] = object{"Authorization": "env:TASKS_TEST_TOKEN"}
	if _, err = round(t, local, "http", config); err == nil || strings.Contains(err.Error(), "ter2") {
		t.Errorf("got %v, want an error without the secret", err)
	}
	t.Setenv("TASKS_TEST_TOKEN", "ann:hunter2")
	config = object{"url": s.URL, "user": "env:TASKS_TEST_TOKEN", "password": "file:" + path}
	if _, err = round(t, local, "http", config); err == nil ||
		!strings.Contains(err.Error(), "config.user: the name has a colon") {
		t.Errorf("got %v, want a name with a colon refused", err)
	}
}

func TestHTTPSecretsStayAtTheirOrigin(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 2)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		r.Header.Set("Host", r.Host)
		headers <- r.Header
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusFound
		if r.Method == http.MethodPost {
			code = http.StatusTemporaryRedirect // asks to send the body again
		}
		http.Redirect(w, r, strings.TrimPrefix(other.URL, "http:"), code)
	})
	config := object{"url": s.URL + "/?key=secret", "headers": object{"X-Api-Key": "k", "Host": "shop.example"}}
	h, err := round(t, local, "http", config)
	wantUp(t, h, "http", err)
	if got := <-headers; got.Get("X-Api-Key") != "" || got.Get("Referer") != "" || got.Get("Host") == "shop.example" {
		t.Errorf("the other origin was told %v", got)
	}
	config["method"], config["body"] = "POST", "secret"
	h, err = round(t, local, "http", config)
	wantDown(t, h, "http", "redirect", err)
	if len(headers) != 0 {
		t.Error("the body was sent to the other origin")
	}
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	h, err := round(t, local, "http", object{"url": s.URL})
	wantDown(t, h, "http", "tls", err) // the system does not trust the test server
	trusting := local
	trusting.RootCAs = x509.NewCertPool()
	trusting.RootCAs.AddCert(s.Certificate())
	h, err = round(t, trusting, "http", object{"url": s.URL})
	wantUp(t, h, "http", err)
	if !phasesOf(h, "http.latency_ms")["tls"] {
		t.Error("no latency of the TLS handshake")
	}
	want := time.Until(s.Certificate().NotAfter).Hours() / 24
	if got := h.LastValue(t, "http.tls_expiry_days"); got < want-1 || got > want+1 {
		t.Errorf("expiry in %v days, want about %v", got, want)
	}
}

func TestHTTPTimeoutIsAFindingAndAStopIsNot(t *testing.T) {
	t.Parallel()
	asked, done := make(chan struct{}, 1), make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stop" { // the round that ends by its timeout may end before it has asked
			asked <- struct{}{}
		}
		<-done
	})
	t.Cleanup(func() { close(done) })
	d := define(t, object{"url": s.URL})
	d.TimeoutMS = 50
	g, h := worktest.NewGrant(t, d)
	err := worktest.Run(t, Builtin(local)["http"], g)
	wantDown(t, h, "http", "timeout", err)

	d = define(t, object{"url": s.URL + "/stop"})
	d.TimeoutMS = 60_000
	g, h = worktest.NewGrant(t, d)
	ctx, stop := context.WithCancelCause(t.Context())
	go func() { <-asked; stop(work.CauseMoved) }()
	if err := worktest.RunContext(ctx, t, Builtin(local)["http"], g); !errors.Is(err, work.CauseMoved) {
		t.Errorf("got %v, want the cause of the stop", err)
	}
	if got := h.Samples(); len(got) != 0 {
		t.Errorf("a round that was cut short emitted %v", got)
	}
}

func TestOnlyChangesAreLogged(t *testing.T) {
	t.Parallel()
	f := finder{prefix: "x"}
	g, _ := worktest.NewGrant(t, work.Definition{})
	var log strings.Builder
	g.Log = textLog(&log)
	bad := &unexpected{"status", errors.New("status is 500")}
	for _, err := range []error{nil, bad, bad, nil, nil} {
		if got := f.report(t.Context(), g, err); !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 2 {
		t.Errorf("got %d lines, want one when it failed and one when it passed:\n%s", got, log.String())
	}
}

// The parts of redirects are added up, and one that began twice began with the first.
func TestPhasesAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p phases
		for range 2 {
			p.begin("connect")
			time.Sleep(time.Second)
			p.begin("connect")
			time.Sleep(time.Second)
			p.end("connect")
		}
		p.end("tls") // never began
		p.begin("dns")
		p.began = nil
		p.begin("connect")
		time.Sleep(time.Second)
		p.trace().ConnectDone("tcp", "", errors.New("refused")) // another address may still be reached
		if got := p.durations(); len(got) != 1 || got["connect"] != 4*time.Second {
			t.Errorf("got %v, want connect 4s", got)
		}
	})
}
