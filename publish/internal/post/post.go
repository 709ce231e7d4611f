package post

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rota-run/rota/publish"
)

// Options say where to send.
type Options struct {
	Servers   []string    // host:port; after a failure the next one is asked
	Default   string      // where there are none
	Path      string      // "/api/v2/write?bucket=b"
	TLS       *tls.Config // nil: no encryption
	Header    http.Header // of each request
	User      string
	Password  string
	Scheme    string // of the token: Bearer
	Token     string
	Transport http.RoundTripper // for tests; default: one with bounded connections
}

// Client posts to one of several servers. Its methods are called by one goroutine at a time.
type Client struct {
	o       Options
	client  *http.Client
	current int
}

const (
	connectTimeout = 3 * time.Second
	mostBytes      = 32 << 20 // of an answer
	mostText       = 200      // of what a server says, in an error
)

// New returns a client. Nothing is connected yet.
func New(o Options) *Client {
	if len(o.Servers) == 0 {
		o.Servers = []string{o.Default}
	}
	if o.Header == nil {
		o.Header = http.Header{}
	}
	if o.Token != "" {
		o.Header.Set("Authorization", o.Scheme+" "+o.Token)
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout,
				KeepAlive: 10 * time.Second}).DialContext,
			TLSClientConfig: o.TLS, TLSHandshakeTimeout: connectTimeout, MaxIdleConnsPerHost: 2,
			IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}
	}
	return &Client{o: o, client: &http.Client{
		Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Close closes the connections.
func (c *Client) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

// Answer is what a server said.
type Answer struct {
	Status int
	Body   []byte
	Wait   time.Duration // Retry-After; 0 where it is absent
}

// Good reports whether the server took the request.
func (a Answer) Good() bool { return a.Status >= 200 && a.Status < 300 }

// Passing reports whether the same request may be taken later.
func (a Answer) Passing() bool { return Passing(a.Status) }

// Passing reports whether a status may change by itself.
func Passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// Post sends one body. An error means that nobody knows whether a server has it.
func (c *Client) Post(ctx context.Context, contentType string, body []byte) (Answer, error) {
	return c.PostTo(ctx, c.o.Path, contentType, body)
}

// PostTo is Post to another path.
func (c *Client) PostTo(ctx context.Context, path, contentType string, body []byte) (Answer, error) {
	scheme := "http://"
	if c.o.TLS != nil {
		scheme = "https://"
	}
	server := c.o.Servers[c.current%len(c.o.Servers)]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+server+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, c.clean(server, err)
	}
	req.GetBody = nil // never sent again by itself
	for k, v := range c.o.Header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "rota")
	if c.o.User != "" {
		req.SetBasicAuth(c.o.User, c.o.Password)
	}
	a, err := c.do(req)
	if err != nil {
		c.current++
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return a, c.clean(server, err)
	}
	if a.Status >= 500 {
		c.current++
	}
	return a, nil
}

func (c *Client) do(req *http.Request) (Answer, error) {
	resp, err := c.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Wait: waitOf(resp.Header)}
	if a.Body, err = io.ReadAll(io.LimitReader(resp.Body, mostBytes+1)); err == nil && len(a.Body) > mostBytes {
		err = fmt.Errorf("an answer of more than %d bytes", mostBytes)
	}
	return a, err
}

// waitOf is how long a server asks to wait, in seconds or until a date: that is by its own clock, as Date is.
func waitOf(h http.Header) time.Duration {
	const most = 24 * time.Hour
	after := h.Get("Retry-After")
	if n, err := strconv.Atoi(after); err == nil {
		return time.Duration(min(max(n, 0), int(most/time.Second))) * time.Second
	}
	now, wrong := http.ParseTime(h.Get("Date"))
	until, err := http.ParseTime(after)
	if err != nil || wrong != nil {
		return 0
	}
	return min(max(until.Sub(now), 0), most)
}

// clean leaves the address of a request out of an error: its query is nobody's business.
func (c *Client) clean(server string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("%s: %s", server, c.Text([]byte(err.Error())))
}

// Text is what a server said as one line without secrets.
func (c *Client) Text(said []byte) string {
	return Text(said, c.secrets()...)
}

// Text is what a server said as one line without secrets.
func Text(said []byte, secrets ...string) string {
	text := string(said) // all of it: of a secret that is cut in two, the first part would be shown
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = text[:min(len(text), 4*mostText)]
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"),
		func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	return text
}

func (c *Client) secrets() []string {
	var out []string
	if c.o.Password != "" {
		out = append(out, c.o.Password)
	}
	if _, token, ok := strings.Cut(c.o.Header.Get("Authorization"), " "); ok && token != "" {
		out = append(out, token)
	}
	return out
}

// Outcome is what an answer to a whole batch says of it; refused more are already known to be such, for the reason why.
func (c *Client) Outcome(batch []publish.Sample, a Answer, err error) publish.Outcome {
	switch {
	case err != nil:
		return publish.RetryAll(batch, 0, err)
	case a.Good():
		return publish.Outcome{}
	case a.Passing():
		return publish.RetryAll(batch, a.Wait, c.Fault(a))
	}
	out := publish.Refuse(batch, c.Fault(a))
	out.Login = Login(a.Status)
	return out
}

// Login reports whether a status refuses who asks, not what is asked.
func Login(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}

// Fault is an answer that is not good, as an error.
func (c *Client) Fault(a Answer) error {
	return fmt.Errorf("status %d: %s", a.Status, c.Text(a.Body))
}

// Encoded is a batch as a sink is to get it: what it cannot hold is left out and counted.
type Encoded struct {
	Samples []publish.Sample // those in the body
	Refused int
	Err     error // why, for the last one of those
}

// Encode calls add for each sample.
func Encode(batch []publish.Sample, add func(publish.Sample) error) Encoded {
	out := Encoded{Samples: make([]publish.Sample, 0, len(batch))}
	for _, s := range batch {
		if err := add(s); err != nil {
			out.Refused++
			out.Err = fmt.Errorf("sample %.100q: %w", s.Name, err)
			continue
		}
		out.Samples = append(out.Samples, s)
	}
	return out
}

// With adds to an outcome of the samples in the body those that were left out.
func (e Encoded) With(out publish.Outcome) publish.Outcome {
	out.Refused += e.Refused
	if out.Err == nil {
		out.Err = e.Err
	}
	return out
}

// Sink sends each batch as one body.
type Sink struct {
	*Client
	Type   string // of the content
	Append func(to []byte, s publish.Sample) ([]byte, error)
	Whole  func(body []byte) []byte // what is sent of it; nil: as it is
	// Judge says what a good answer means; nil: that all was taken.
	Judge func(ctx context.Context, batch []publish.Sample, body []byte, a Answer) publish.Outcome
}

// Send implements publish.Sink.
func (s *Sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	var body []byte
	e := Encode(batch, func(sample publish.Sample) (err error) {
		body, err = s.Append(body, sample)
		return err
	})
	if len(e.Samples) == 0 {
		return e.With(publish.Outcome{})
	}
	if s.Whole != nil {
		body = s.Whole(body)
	}
	a, err := s.Post(ctx, s.Type, body)
	if err == nil && a.Good() && s.Judge != nil {
		return e.With(s.Judge(ctx, e.Samples, body, a))
	}
	return e.With(s.Outcome(e.Samples, a, err))
}
