package publishtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/publish"
)

// Mood is what a fake server does with a request.
type Mood int

// Moods of a server.
const (
	Up     Mood = iota // it takes the samples
	Down               // nobody answers
	Hang               // it takes the request and never answers
	Busy               // it asks to come again later
	Refuse             // it never takes these samples
	Lose               // it takes the samples, and the answer is lost
	Expel              // it does not let the sender in
)

// ErrDown is the error of a connection to a server that is [Down], or whose answer is lost.
var ErrDown = errors.New("connection refused")

// Script is a fake server's mood, and what it took.
type Script struct {
	mu     sync.Mutex
	mood   Mood
	wait   time.Duration
	took   []string
	asked  int
	askedC chan struct{}
}

func newScript() *Script { return &Script{askedC: make(chan struct{}, 1)} }

// Set changes the mood.
func (s *Script) Set(m Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mood = m
}

// Mood is the present one; a fake calls it once for each request.
func (s *Script) Mood() Mood {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	select {
	case s.askedC <- struct{}{}:
	default:
	}
	return s.mood
}

// Wait is how long a [Busy] server asks to wait, in whole seconds; 0 where it does not say.
func (s *Script) Wait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait
}

// Take notes that the fake took a point. Of [Value] it knows which sample it was.
func (s *Script) Take(name string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, key(name, value))
}

// Meet waits while the server hangs, until ctx ends, and returns the error of the connection; nil where there is an
// answer.
func (s *Script) Meet(ctx context.Context, m Mood) error {
	switch m {
	case Down:
		return ErrDown
	case Hang:
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (s *Script) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// first are the samples that were taken, each where it came first.
func (s *Script) first() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, k := range s.took {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func key(name string, value float64) string {
	return name + "=" + strconv.FormatFloat(value, 'g', -1, 64)
}

// samples are n samples of one series, numbered by their values.
func samples(from, n int) []publish.Sample {
	out := make([]publish.Sample, n)
	for i := range out {
		out[i] = publish.Sample{
			Name: "load", Tags: map[string]string{"member": "a", "zone": "x y"},
			Points: []publish.Point{{AtMS: 1795190400000 + int64(from+i), Value: float64(from + i)}},
		}
	}
	return out
}

func keys(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = key("load", float64(from+i))
	}
	return out
}

// Transport is a fake server that speaks HTTP. take decodes a request and notes what is in it, and returns the status
// and the body of the answer. Where it refuses, it repeats the login in its answer, as servers have been seen to do.
func (s *Script) Transport(take func(r *http.Request, body []byte) (int, []byte)) http.RoundTripper {
	return transport{s, take}
}

type transport struct {
	s    *Script
	take func(r *http.Request, body []byte) (int, []byte)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	m := t.s.Mood()
	if err := t.s.Meet(r.Context(), m); err != nil {
		return nil, err
	}
	if r.URL.Scheme != "http" || !strings.Contains(r.Header.Get("Authorization"), Secret) {
		return nil, fmt.Errorf("a request by %s with the login %q", r.URL.Scheme, r.Header.Get("Authorization"))
	}
	switch m {
	case Refuse:
		return answer(r, http.StatusBadRequest, nil, "bad request of "+r.Header.Get("Authorization")+"\nthe end"), nil
	case Expel:
		return answer(r, http.StatusForbidden, nil, "not allowed: "+r.Header.Get("Authorization")), nil
	case Busy:
		return answer(r, http.StatusTooManyRequests,
			http.Header{"Retry-After": {strconv.Itoa(int(t.s.Wait().Seconds()))}}, "busy"), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, text := t.take(r, body)
	if m == Lose {
		return nil, errors.New("connection reset")
	}
	return answer(r, status, nil, string(text)), nil
}

func answer(r *http.Request, status int, h http.Header, body string) *http.Response {
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		Request: r,
		Proto:   "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}
