package tasks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// postConfig of http.post.
type postConfig struct {
	// URL takes a request with the method POST for each batch of segments: a JSON list of them. The header
	// Idempotency-Key names the batch: it is the same whenever the batch is sent again, and no other batch of any job
	// has it.
	URL     string                `json:"url"`
	Headers map[string]secretText `json:"headers"` // as those of http
	Timeout work.Duration         `json:"timeout"` // of a request; default 10 s
	Allow   []string              `json:"allow"`   // CIDRs of addresses that are not public
	certificates
	login
}

// The pauses between requests that the server could not take.
const (
	postTimeout   = 10 * time.Second
	shortestRetry = 100 * time.Millisecond
	longestRetry  = 10 * time.Second
)

func (o Options) httpPost() work.Type {
	return work.Type{
		Name: "http.post", Doc: "sends the segments of a flow to a web server, in batches",
		Segments: &work.Segments{In: work.AnySegments},
		New: typed(func(c postConfig, _ work.Definition, f *faults) work.Runner {
			if c.Timeout < 0 {
				f.add("timeout", "such as 10s", "%v is negative", time.Duration(c.Timeout))
			}
			c.Timeout = cmp.Or(c.Timeout, work.Duration(postTimeout))
			none := 0
			to := o.newHTTP(httpConfig{
				URL: c.URL, Method: http.MethodPost, Headers: c.Headers, Redirects: &none, Allow: c.Allow,
				certificates: c.certificates, login: c.login,
			}, max(time.Duration(c.Timeout), time.Millisecond), f)
			return stage.Stage{Do: poster{to}.post}
		}),
	}
}

type poster struct{ to *httpRunner }

// post sends a batch until the server has taken or refused it. What it refuses fails; what it cannot take now is sent
// again, for as long as it takes: that the server is away is no fault of a segment.
func (p poster) post(ctx context.Context, g *work.Grant, in [][]byte, _ *stage.Out) error {
	body := append(append([]byte("["), bytes.Join(in, []byte(","))...), ']')
	for wait := shortestRetry; ; wait = min(2*wait, longestRetry) {
		err := p.send(ctx, g, body)
		var away *awayError
		if !errors.As(err, &away) || ctx.Err() != nil {
			return err
		}
		g.Log.Warn("the server does not take a batch; it is sent again", "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// awayError says that a request may succeed later.
type awayError struct{ cause error }

func (a *awayError) Error() string { return a.cause.Error() }
func (a *awayError) Unwrap() error { return a.cause }

func (p poster) send(ctx context.Context, g *work.Grant, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.to.timeout)
	defer cancel()
	req, client, err := p.to.prepare(ctx, g, "http.post")
	if err != nil {
		return &awayError{err} // a secret that cannot be read may be there later
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", stage.BatchKey(ctx))
	resp, err := client.Do(req)
	if err != nil {
		return &awayError{fmt.Errorf("post: %w", withoutURL(err))}
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // what came says more than nothing
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500:
		return &awayError{fmt.Errorf("the server answers %s", resp.Status)}
	}
	return fmt.Errorf("the server refuses it: %s: %.200q", resp.Status, answer)
}
