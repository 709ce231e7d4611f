package publishtest

import (
	"context"
	"errors"
	"slices"
	"strconv"
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

// Meet waits while the server hangs, until ctx ends, and returns the error of the connection; nil where there is an answer.
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
