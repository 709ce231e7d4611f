package post_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
	"github.com/rota-run/rota/publish/internal/wiretest"
)

// TestAnEndlessAnswerIsCut: a server that never ends its answer is left after 32 MiB, and the next one is asked.
func TestAnEndlessAnswerIsCut(t *testing.T) {
	t.Parallel()
	part := make([]byte, 1<<20)
	var sent atomic.Int64 // MiB
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 200 {
			if _, err := w.Write(part); err != nil {
				return
			}
			sent.Add(1)
		}
	}))
	defer endless.Close()
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
	}))
	defer good.Close()
	c := post.New(post.Options{Servers: []string{strings.TrimPrefix(endless.URL, "http://"),
		strings.TrimPrefix(good.URL, "http://")}, Path: "/"})
	defer c.Close()
	if _, err := c.Post(t.Context(), "text/plain", nil); err == nil ||
		!strings.Contains(err.Error(), "more than 33554432 bytes") {
		t.Errorf("an endless answer: %v", err)
	}
	if n := sent.Load(); n > 100 {
		t.Errorf("%d MiB of the answer were taken", n)
	}
	if a, err := c.Post(t.Context(), "text/plain", nil); err != nil || !a.Good() || a.Wait.Seconds() != 3 {
		t.Errorf("the next server: %+v, %v", a, err)
	}
}

// TestASinkSends: what a sink makes of a batch and of the answer. It cannot hold a sample named "odd". After a failure
// of the server the next one is asked; a refusal is no reason to leave, and nobody else is asked where it says so. What
// an answer repeats of the login is not in an error, with a password or without, nor a part of it.
func TestASinkSends(t *testing.T) {
	t.Parallel()
	gone, token := errors.New("it was told to end"), strings.Repeat("hush-", 400) // as long as those of some issuers
	twice := http.Header{"Authorization": {"Bearer " + token}}
	for name, c := range map[string]struct {
		batch        string // "": a
		o            post.Options
		status       int
		after, said  string
		err          error // of the connection
		ended, judge bool
		want         string // the request; "": what is sent of a, if anything
		retry        int
		refused      int
		wait         time.Duration
		login        bool
		why          string
	}{
		"taken": {batch: "a b", status: 200, want: "http://d:1/p a;b; rota text/x"},
		"what it cannot": {batch: "a odd b", status: 299, want: "http://d:1/p a;b; rota text/x", refused: 1,
			why: `sample "odd": too odd`},
		"nothing is left": {batch: "odd odd", refused: 2, why: `sample "odd": too odd`},
		"a name, over TLS": {o: post.Options{TLS: &tls.Config{}, User: "u", Password: "pw"}, status: 204,
			want: "https://d:1/p a; rota text/x Basic dTpwdw=="},
		"a token": {o: post.Options{Scheme: "Token", Token: "t0k", Servers: []string{"e:2"}}, status: 200,
			want: "http://e:2/p a; rota text/x Token t0k"},
		"judged":          {batch: "a odd", status: 200, judge: true, refused: 1, retry: 1, why: "judged a;"},
		"judged if good":  {batch: "a odd", status: 300, judge: true, refused: 2, why: "status 300: "},
		"not now":         {batch: "a odd", status: 429, after: "7", retry: 1, refused: 1, wait: 7 * time.Second, why: "status 429: "},
		"in a year":       {status: 503, after: "31000000", retry: 1, wait: 24 * time.Hour, why: "status 503: "},
		"on some date":    {status: 500, after: "Fri, 31 Dec 1999 23:59:59 GMT", retry: 1, wait: 59 * time.Second, why: "status 500: "},
		"in the past":     {status: 429, after: "Fri, 31 Dec 1999 23:58:59 GMT", retry: 1, why: "status 429: "},
		"on a far date":   {status: 503, after: "Sat, 01 Jan 2000 23:59:59 GMT", retry: 1, wait: 24 * time.Hour, why: "status 503: "},
		"on no date":      {status: 503, after: "soon", retry: 1, why: "status 503: "},
		"before it began": {status: 408, after: "-5", retry: 1, why: "status 408: "},
		"never": {status: 501, said: "not\r\n\x00 here!" + strings.Repeat("ä", 200), refused: 1,
			why: "status 501: not here!" + strings.Repeat("ä", 95) + "…"},
		"not in": {batch: "a b", status: 401, said: strings.Repeat("x", 200), want: "http://d:1/p a;b; rota text/x",
			refused: 2, login: true, why: "status 401: " + strings.Repeat("x", 200)},
		"elsewhere": {status: 302, refused: 1, why: "status 302: "},
		"a token that is repeated": {o: post.Options{Header: twice}, status: 400, said: strings.Repeat("x", 188) + " " + token,
			want: "http://d:1/p a; rota text/x Bearer " + token, refused: 1, why: "status 400: " + strings.Repeat("x", 188) + " ***"},
		"not allowed":      {status: 403, refused: 1, login: true, why: "status 403: "},
		"not by the proxy": {status: 407, refused: 1, login: true, why: "status 407: "},
		"no answer":        {o: post.Options{Password: "pw"}, err: errors.New("reset pw"), retry: 1, why: "d:1: reset ***"},
		"ended":            {ended: true, retry: 1, why: "d:1: it was told to end"},
		"no address":       {o: post.Options{Servers: []string{"d:1/%"}}, retry: 1, why: "d:1/%: invalid URL escape"},
	} {
		got, asked := "", ""
		if c.o.Servers == nil && !c.ended {
			c.o.Servers = []string{"d:1", "e:2"}
		}
		if c.batch = cmp.Or(c.batch, "a"); c.status > 0 || c.err != nil {
			c.want = cmp.Or(c.want, "http://d:1/p a; rota text/x")
		}
		c.o.Default, c.o.Path = "d:1", "/p"
		c.o.Transport = wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			body, _ := io.ReadAll(r.Body)
			if asked = r.URL.Host; len(body) == 0 {
				return nil, gone
			}
			got += strings.TrimSpace(fmt.Sprint(r.URL, " ", string(body), r.Header.Get("User-Agent"), " ",
				r.Header.Get("Content-Type"), " ", r.Header.Get("Authorization")))
			if c.err != nil {
				return nil, c.err
			}
			return &http.Response{StatusCode: c.status, Header: http.Header{"Retry-After": {c.after}, "Location": {"http://c:1/"},
				"Date": {"Fri, 31 Dec 1999 23:59:00 GMT"}}, Body: io.NopCloser(strings.NewReader(c.said)), Request: r}, nil
		})
		s := sinkOf(c.o, c.judge)
		var batch, retry []publish.Sample
		for name := range strings.FieldsSeq(c.batch) {
			batch = append(batch, publish.Sample{Name: name})
		}
		if c.retry > 0 {
			retry = batch[:c.retry]
		}
		ctx, end := context.WithCancelCause(t.Context())
		if c.ended {
			end(gone)
		}
		out := s.Send(ctx, batch)
		end(nil)
		if got != c.want || out.Refused != c.refused || out.Wait != c.wait || out.Login != c.login ||
			!slices.EqualFunc(out.Retry, retry, func(a, b publish.Sample) bool { return a.Name == b.Name }) {
			t.Errorf("%s: sent %q, %+v", name, got, out)
		}
		_, _ = s.Post(t.Context(), "text/x", nil)
		if left := c.status >= 500 || c.err != nil; len(c.o.Servers) == 2 && left != (asked == "e:2") {
			t.Errorf("%s: then it asks %s", name, asked)
		}
		said := fmt.Sprint(out.Err)
		if c.why == "" != (out.Err == nil) || !strings.HasPrefix(said, c.why) || len(said) > 300 {
			t.Errorf("%s: %s, want %s", name, said, c.why)
		}
	}
}

func sinkOf(o post.Options, judge bool) *post.Sink {
	s := &post.Sink{Client: post.New(o), Type: "text/x",
		Append: func(to []byte, s publish.Sample) ([]byte, error) {
			if s.Name == "odd" {
				return to, errors.New("too odd")
			}
			return append(to, s.Name+";"...), nil
		},
		Whole: func(body []byte) []byte { return append(body, ' ') },
	}
	if judge {
		s.Judge = func(_ context.Context, batch []publish.Sample, body []byte, _ post.Answer) publish.Outcome {
			return publish.RetryAll(batch, 0, fmt.Errorf("judged %s", body))
		}
	}
	return s
}
