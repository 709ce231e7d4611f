package tasks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/rota-run/rota/work"
)

const (
	maxHeaderBytes  = 64 << 10
	userAgent       = "rota"
	redirectDefault = 5
)

// httpRunner is one check of one URL. It is safe to run concurrently; every round makes its own connection, so that its
// latency is measured.
type httpRunner struct {
	c       httpConfig
	url     *url.URL
	timeout time.Duration
	client  *http.Client
	shows   *credentials // nil where the config names no certificates: then client has all
	guard   guard
	found   finder
}

func (o Options) http() work.Type {
	return work.Type{
		Name: "http", Doc: "a web page or API answers as expected", Periodic: true, DefaultEvery: defaultEvery,
		New: typed(func(c httpConfig, d work.Definition, f *faults) work.Runner {
			return o.newHTTP(c, roundTimeout(d), f)
		}),
	}
}

// newHTTP makes a check whose rounds take so long at most; of no use where it adds a fault.
func (o Options) newHTTP(c httpConfig, timeout time.Duration, f *faults) *httpRunner {
	u, g := c.check(o, f)
	h := &httpRunner{c: c, url: u, guard: g, timeout: timeout, found: finder{prefix: "http"}}
	h.client = o.httpClient(g, h.timeout, h.redirect)
	if c.certificates != (certificates{}) {
		h.shows = &credentials{c: c.certificates, roots: o.RootCAs}
	}
	return h
}

// httpClient returns a client for requests without a client certificate.
func (o Options) httpClient(g guard, timeout time.Duration,
	redirect func(*http.Request, []*http.Request) error) *http.Client {
	return &http.Client{CheckRedirect: redirect, Transport: g.transport(timeout, shown{roots: o.RootCAs}.config(false))}
}

// transport is under the guard, keeps no connection and asks no proxy: a proxy would connect to what the guard refuses.
func (g guard) transport(timeout time.Duration, c *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            g.dialer(timeout).DialContext,
		TLSClientConfig:        c,
		TLSHandshakeTimeout:    timeout,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// prepare returns the request of a round of the type typ, and who sends it.
func (h *httpRunner) prepare(ctx context.Context, g *work.Grant, typ string) (*http.Request, *http.Client, error) {
	client := h.client
	if h.shows != nil {
		now, err := h.shows.current(g, typ)
		if err != nil {
			return nil, nil, fmt.Errorf("prepare request: %w", err)
		}
		own, other := h.guard.transport(h.timeout, now.config(false)), h.guard.transport(h.timeout, now.config(true))
		client = &http.Client{CheckRedirect: h.redirect, Transport: origins{first: h.url, own: own, other: other}}
	}
	req, err := h.request(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare request: %w", err)
	}
	return req, client, nil
}

// Run makes one round.
func (h *httpRunner) Run(ctx context.Context, g *work.Grant) error {
	round, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	var p phases
	req, client, err := h.prepare(httptrace.WithClientTrace(round, p.trace()), g, "http")
	if err != nil {
		return err
	}
	start := time.Now()
	resp, body, err := h.do(client, req) //nolint:bodyclose // do reads and closes the body
	total := time.Since(start)
	if err == nil {
		err = h.c.Expect.check(resp, body)
	}
	out := h.found.report(ctx, g, err)
	if !cut(ctx) && resp != nil {
		h.emit(g, resp, &p, total)
	}
	return out
}

func (h *httpRunner) emit(g *work.Grant, resp *http.Response, p *phases, total time.Duration) {
	g.Value("http.status", float64(resp.StatusCode), nil)
	h.found.latencies(g, p)
	h.found.latency(g, "total", total)
	if resp.TLS != nil {
		if days, ok := daysLeft(resp.TLS.VerifiedChains, time.Now()); ok {
			g.Value("http.tls_expiry_days", days, nil)
		}
	}
}

// request resolves secrets again in every round, so that a rotated one is used.
func (h *httpRunner) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if h.c.Body != "" {
		body = strings.NewReader(h.c.Body)
	}
	req, err := http.NewRequestWithContext(ctx, h.c.Method, h.url.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	for name, text := range h.c.Headers {
		value, err := text.resolve()
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("header %s: the value has characters that no header may have", name)
		}
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	return req, h.c.login.put(req)
}

// do sends the request and reads a bounded body. The response may be there though err is not nil.
func (h *httpRunner) do(client *http.Client, req *http.Request) (*http.Response, bodyRead, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, bodyRead{}, fmt.Errorf("%s %s: %w", req.Method, plainURL(h.url), withoutURL(err))
	}
	defer resp.Body.Close()
	body, err := h.readBody(resp.Body)
	if err != nil {
		return resp, bodyRead{}, fmt.Errorf("read body of %s: %w", plainURL(h.url), err)
	}
	return resp, body, nil
}

// bodyRead is the beginning of a body: most bytes of it, and cut reports that there was more.
type bodyRead struct {
	text []byte
	most int
	cut  bool
}

// readBody reads a body that nobody looks at too, since its time is measured, but does not keep it.
func (h *httpRunner) readBody(from io.Reader) (bodyRead, error) {
	most := h.c.MaxBody
	from = io.LimitReader(from, int64(most)+1)
	if !h.c.Expect.wantsBody() {
		_, err := io.Copy(io.Discard, from)
		return bodyRead{most: most}, err
	}
	b, err := io.ReadAll(from)
	if len(b) > most {
		return bodyRead{text: b[:most], most: most, cut: true}, err
	}
	return bodyRead{text: b, most: most}, err
}

// redirect decides about following. What a task sends to one origin is not meant for another: there, its headers, user
// and password are taken off, and a body is not sent at all. The client certificate is left out by origins.
func (h *httpRunner) redirect(req *http.Request, via []*http.Request) error {
	limit := redirectDefault
	if h.c.Redirects != nil {
		limit = *h.c.Redirects
	}
	if limit == 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > limit {
		return &unexpected{"redirect", fmt.Errorf("more than %d redirects", limit)}
	}
	req.Header.Del("Referer") // the query of the URL before may hold a secret
	if !strays(req, via) {
		return nil
	}
	if req.Body != nil && req.Body != http.NoBody {
		return &unexpected{"redirect", fmt.Errorf("the redirect to %s asks to send the body to another origin",
			plainURL(req.URL))}
	}
	req.Host = ""
	req.Header.Del("Authorization") // of user and password
	for name := range h.c.Headers {
		req.Header.Del(name)
	}
	return nil
}

// strays reports whether any hop so far, or the next, is at another origin than the first.
func strays(req *http.Request, via []*http.Request) bool {
	return slices.ContainsFunc(append(via[1:len(via):len(via)], req),
		func(r *http.Request) bool { return !sameOrigin(r.URL, via[0].URL) })
}

// plainURL leaves out user and query, which may hold secrets.
func plainURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// withoutURL takes the URL off an error of the client.
func withoutURL(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
