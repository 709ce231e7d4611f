package pubsub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/publishtest"
)

// fake is a client whose server does what the script says.
type fake struct {
	t *testing.T
	s *publishtest.Script
}

func (f fake) Publish(ctx context.Context, req *pubsubpb.PublishRequest,
	_ ...gax.CallOption) (*pubsubpb.PublishResponse, error) {
	m := f.s.Mood()
	if err := f.s.Meet(ctx, m); err != nil {
		return nil, status.FromContextError(errors.Join(err, ctx.Err())).Err()
	}
	switch m {
	case publishtest.Refuse:
		return nil, status.Error(codes.InvalidArgument, "no")
	case publishtest.Expel:
		return nil, status.Error(codes.PermissionDenied, "no")
	case publishtest.Busy:
		return nil, status.Error(codes.ResourceExhausted, "quota")
	}
	for _, message := range req.Messages {
		var s publish.Sample
		if err := json.Unmarshal(message.Data, &s); err != nil || req.Topic != "projects/p/topics/samples" ||
			message.OrderingKey != s.Series() || message.Attributes["name"] != s.Name {
			f.t.Errorf("to %s: %v, %v", req.Topic, message, err)
		}
		f.s.Take(s.Name, s.Points[0].Value)
	}
	if m == publishtest.Lose {
		return nil, status.Error(codes.Unavailable, "connection reset")
	}
	return &pubsubpb.PublishResponse{MessageIds: make([]string, len(req.Messages))}, nil
}

func (fake) Close() error { return nil }

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{NoWait: true, Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		return &sink{"projects/p/topics/samples", true, fake{t, s}}
	}})
}

// counting is a client that takes everything, and counts messages of each request.
type counting struct {
	requests []int
	fail     map[int]error // by the number of the request
}

func (c *counting) Publish(_ context.Context, req *pubsubpb.PublishRequest,
	_ ...gax.CallOption) (*pubsubpb.PublishResponse, error) {
	c.requests = append(c.requests, len(req.Messages))
	return nil, c.fail[len(c.requests)]
}

func (*counting) Close() error { return nil }

func large(bytes int) publish.Sample {
	return publish.Sample{Name: "load", Tags: map[string]string{"text": strings.Repeat("x", bytes)}}
}

func TestLargeBatches(t *testing.T) {
	t.Parallel()
	many := make([]publish.Sample, 2500)
	for name, c := range map[string]struct {
		batch          []publish.Sample
		ordering       bool
		fail           map[int]error
		requests       []int
		retry, refused int
	}{
		"too many for one request": {batch: many, requests: []int{1000, 1000, 500}},
		"too much for one request": {batch: []publish.Sample{large(6 << 20), large(6 << 20), large(1)},
			requests: []int{1, 2}},
		"too large for a message": {batch: []publish.Sample{large(1), large(10 << 20), large(1)}, requests: []int{2},
			refused: 1},
		"a series too long as a key": {batch: []publish.Sample{large(2000), large(1)}, ordering: true,
			requests: []int{1}, refused: 1},
		"nothing is left": {batch: []publish.Sample{large(10 << 20)}, refused: 1},
		"away in the middle": {batch: many, fail: map[int]error{2: status.Error(codes.Unavailable, "x")},
			requests: []int{1000, 1000}, retry: 1500},
		"refused in the middle": {batch: many, fail: map[int]error{2: status.Error(codes.InvalidArgument, "x")},
			requests: []int{1000, 1000, 500}, refused: 1000},
	} {
		p := &counting{fail: c.fail}
		out := (&sink{"t", c.ordering, p}).Send(t.Context(), c.batch)
		got := make([]string, len(p.requests))
		same := len(p.requests) == len(c.requests)
		for i := range got {
			same = same && p.requests[i] == c.requests[i]
		}
		if !same || len(out.Retry) != c.retry || out.Refused != c.refused ||
			(out.Err != nil) != (c.retry+c.refused > 0) {
			t.Errorf("%s: requests %v, %d to retry, %d refused, %v", name, p.requests, len(out.Retry), out.Refused,
				out.Err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:1")
	for text, good := range map[string]bool{
		"p/samples": true, "//p/samples?ordering=on": true, "p": false, "p/s": false, "/samples": false,
		"p/samples?order=on": false, "p/samples?ordering=yes": false, "p/a/b": false,
	} {
		p, err := Open(text)
		if (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil && publish.Sinks(p)[0].Name != "pubsub://p/samples" {
			t.Errorf("%s: %+v", text, publish.Sinks(p))
		}
	}
}
