package tasks

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
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

func TestHTTPDown(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
		case "/big":
			fmt.Fprint(w, `"`, strings.Repeat("x", httpBody.usual), `end"`)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/torn":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		default:
			fmt.Fprint(w, `{"state":"red"}`)
		}
	})
	h, err := round(t, local, "http", object{"url": s.URL + "/loop", "redirects": 0, "expect": object{"status": 302}})
	wantUp(t, h, "http", err)
	for name, c := range map[string]struct {
		url    string
		expect object
		reason string
	}{
		"status":       {s.URL + "/500", object{}, "status"},
		"exact status": {s.URL, object{"status": 204}, "status"},
		"body":         {s.URL, object{"body": "green"}, "body"},
		"body cut":     {s.URL + "/big", object{"body": "end"}, "body"},
		"json value":   {s.URL, object{"json": object{"state": "green"}}, "json"},
		"json path":    {s.URL, object{"json": object{"a.b": 1}}, "json"},
		"json cut":     {s.URL + "/big", object{"json": object{"a": 1}}, "json"},
		"no json":      {s.URL + "/500", object{"status": 500, "json": object{"a": 1}}, "json"},
		"redirects":    {s.URL + "/loop", object{}, "redirect"},
		"connect":      {"http://127.0.0.1:1", object{}, "connect"},
		"torn":         {s.URL + "/torn", object{}, "io"},
		"not tls":      {strings.Replace(s.URL, "http:", "https:", 1), object{}, "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := round(t, local, "http", object{"url": c.url, "expect": c.expect})
			wantDown(t, h, "http", c.reason, err)
		})
	}
}

// TestHTTPAtItsBounds: a bound is the last value that is good, and what is told of a target that fails has no query.
func TestHTTPAtItsBounds(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch hops, err := strconv.Atoi(r.URL.Path[1:]); {
		case r.URL.Path == "/400":
			w.WriteHeader(http.StatusBadRequest)
		case err == nil && hops > 0:
			http.Redirect(w, r, fmt.Sprint("/", hops-1), http.StatusFound)
		case r.URL.Path == "/torn":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		case r.URL.Path == "/20-bytes":
			fmt.Fprintf(w, "%-20s", `{"a":1}`)
		default:
			fmt.Fprint(w, `{"a":1}`)
		}
	})
	for _, c := range []struct {
		path   string
		more   object
		reason string
	}{
		{"/2", object{"redirects": 2}, ""},
		{"/3", object{"redirects": 2}, "redirect"},
		{"/5", object{}, ""},
		{"/6", object{}, "redirect"},
		{"/400", object{}, "status"},
		{"/0", object{"max_body": 7, "expect": object{"body": `{"a":1}`}}, ""},
		{"/20-bytes", object{"max_body": 20, "expect": object{"json": object{"a": 1}}}, ""},
		{"/20-bytes", object{"max_body": 19, "expect": object{"json": object{"a": 1}}}, "json"},
		{"/0", object{"max_body": 6, "expect": object{"body": `{"a":1}`}}, "body"},
		{"/torn?key=secret", object{"expect": object{"body": "x"}}, "io"},
	} {
		config := object{"url": s.URL + c.path}
		maps.Copy(config, c.more)
		h, err := round(t, local, "http", config)
		if c.reason == "" {
			wantUp(t, h, "http", err)
			continue
		}
		wantDown(t, h, "http", c.reason, err)
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("the query is told: %v", err)
		}
		if got := len(h.Named("http.status")); got != 1 && c.reason != "redirect" {
			t.Errorf("%s: the status was told %d times, want once", c.path, got)
		}
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
	h, err = round(t, Options{}, "http", object{"url": "http://localhost:" + port, "allow": []string{"127.0.0.0/8", "::1"}})
	wantUp(t, h, "http", err)
	if len(touched) != 1 {
		t.Errorf("the server was reached %d times, want once, by the allowed task", len(touched))
	}
	if local.guard(new(faults), nil).transport(time.Second, nil).Proxy != nil {
		t.Error("a proxy would connect to what is refused")
	}
}

func TestHTTPRedirectToInternalAddress(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.2:0")
	must.Succeed(t, err)
	defer inner.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+inner.Addr().String()+"/latest/meta-data", http.StatusFound)
	})
	h, err := round(t, Options{}, "http", object{"url": s.URL, "allow": []string{"127.0.0.1"}})
	var refused *AddressError
	if !errors.As(err, &refused) || refused.Addr != netip.MustParseAddr("127.0.0.2") {
		t.Errorf("got %v, want 127.0.0.2 refused", err)
	}
	wantDown(t, h, "http", "refused", err)
}

func TestHTTPSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(path, []byte("from-file\n"), 0o600))
	t.Setenv("TASKS_TEST_TOKEN", "hunter2")
	var got http.Header
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	config := object{"url": s.URL, "headers": object{"Authorization": "Bearer env:TASKS_TEST_TOKEN", "X-Key": "file:" + path, "X-Plain": "a b"}}
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
}

func TestHTTPSecretsStayAtTheirOrigin(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 2)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusFound
		if r.Method == http.MethodPost {
			code = http.StatusTemporaryRedirect // asks to send the body again
		}
		http.Redirect(w, r, other.URL, code)
	})
	config := object{"url": s.URL + "/?key=secret", "headers": object{"X-Api-Key": "k"}}
	h, err := round(t, local, "http", config)
	wantUp(t, h, "http", err)
	if got := <-headers; got.Get("X-Api-Key") != "" || got.Get("Referer") != "" {
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

func BenchmarkHTTPRound(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	d := define(b, object{"url": s.URL})
	r, err := Builtin(local)["http"].New(d)
	must.Succeed(b, err)
	g, _ := worktest.NewGrant(b, d)
	g.Host = deaf{}
	b.ReportAllocs()
	for b.Loop() {
		must.Succeed(b, r.Run(b.Context(), g))
	}
}

// deaf is a host that keeps nothing.
type deaf struct{ work.Host }

func (deaf) Emit(...publish.Sample) {}

// TestHTTPLimits: what is looked at is limited by max_body, in JSON values too, which take far more memory than text.
func TestHTTPLimits(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/values":
			fmt.Fprint(w, "[", strings.Repeat("1,", 400), "1]")
		default:
			fmt.Fprint(w, `{"a":1}`, strings.Repeat(" ", 2000))
		}
	})
	for name, c := range map[string]struct {
		path    string
		most    int
		says    string
		expects object
	}{
		"values":       {"/values", 1000, "more than 100 JSON values", object{"json": object{"0": 1}}},
		"more values":  {"/values", 4020, "", object{"json": object{"0": 1}}},
		"bytes":        {"/", 100, "more than 100 bytes; max_body raises the limit, to 16777216 at most", object{"json": object{"a": 1}}},
		"more bytes":   {"/", 4000, "", object{"json": object{"a": 1}}},
		"text":         {"/", 100, "more than 100 bytes; max_body", object{"body": "z"}},
		"nothing kept": {"/", 100, "", object{}},
	} {
		g, h := worktest.NewGrant(t, define(t, object{"url": s.URL + c.path, "max_body": c.most, "expect": c.expects}))
		var log strings.Builder
		g.Log = textLog(&log)
		err := worktest.Run(t, Builtin(local)["http"], g)
		if c.says == "" {
			wantUp(t, h, "http", err)
		} else if h.LastValue(t, "http.up") != 0 || !strings.Contains(log.String(), c.says) {
			t.Errorf("%s: the log %q does not say %q", name, log.String(), c.says)
		}
	}
}
