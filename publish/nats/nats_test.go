package nats

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/publishtest"
)

// future is an acknowledgement that has come, or does not come.
type future struct {
	ok   chan *jetstream.PubAck
	fail chan error
}

func (f future) Ok() <-chan *jetstream.PubAck { return f.ok }
func (f future) Err() <-chan error            { return f.fail }
func (f future) Msg() *nc.Msg                 { return nil }

func acknowledged(err error) future {
	f := future{make(chan *jetstream.PubAck, 1), make(chan error, 1)}
	if err != nil {
		f.fail <- err
	} else {
		f.ok <- &jetstream.PubAck{}
	}
	return f
}

// fake is a server that does what the script says; one connection takes one batch.
type fake struct {
	t *testing.T
	s *publishtest.Script
	m publishtest.Mood
}

func (f *fake) stream() (stream, error) {
	f.m = f.s.Mood()
	switch f.m {
	case publishtest.Down:
		return nil, nc.ErrDisconnected
	case publishtest.Expel:
		return nil, nc.ErrAuthorization
	}
	return f, nil
}

func (*fake) close() {}

func (f *fake) PublishMsgAsync(m *nc.Msg, _ ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	switch f.m {
	case publishtest.Hang:
		return future{}, nil // no channel ever answers
	case publishtest.Refuse:
		return acknowledged(&jetstream.APIError{Code: 400, ErrorCode: 10054,
			Description: "message size exceeds maximum allowed"}), nil
	case publishtest.Busy:
		return acknowledged(&jetstream.APIError{Code: 503, ErrorCode: 10023, Description: "insufficient resources"}),
			nil
	}
	var s publish.Sample
	if err := json.Unmarshal(m.Data, &s); err != nil || m.Subject != "samples" || len(m.Header.Get(nc.MsgIdHdr)) != 32 {
		f.t.Errorf("message %s %s: %v", m.Subject, m.Data, err)
	}
	f.s.Take(s.Name, s.Points[0].Value)
	if f.m == publishtest.Lose {
		return acknowledged(nc.ErrDisconnected), nil
	}
	return acknowledged(nil), nil
}

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Patient: true, NoWait: true,
		Open: func(t *testing.T, s *publishtest.Script) publish.Sink { return &sink{"samples", &fake{t: t, s: s}} }})
}

// verdicts is a server that answers the messages by what is in them.
type verdicts struct{ at, later map[string]error }

func (v verdicts) stream() (stream, error) { return v, nil }
func (verdicts) close()                    {}

func (v verdicts) PublishMsgAsync(m *nc.Msg, _ ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	var s publish.Sample
	if err := json.Unmarshal(m.Data, &s); err != nil {
		return nil, err
	}
	if err := v.at[s.Name]; err != nil {
		return nil, err
	}
	return acknowledged(v.later[s.Name]), nil
}

func TestWhatIsOpenIsSentAgainInOrder(t *testing.T) {
	t.Parallel()
	var batch []publish.Sample
	for _, name := range strings.Split("abcdef", "") {
		batch = append(batch, publish.Sample{Name: name})
	}
	for name, c := range map[string]struct {
		v       verdicts
		refused int
		again   string
	}{
		"too large, one told later": {verdicts{at: map[string]error{"b": nc.ErrMaxPayload},
			later: map[string]error{"d": &jetstream.APIError{Code: 400}}}, 2, ""},
		"away in the middle": {verdicts{at: map[string]error{"b": nc.ErrMaxPayload,
			"d": nc.ErrReconnectBufExceeded}}, 1, "def"},
		"no answer, then away": {verdicts{at: map[string]error{"e": nc.ErrConnectionClosed},
			later: map[string]error{"c": nc.ErrTimeout}}, 0, "cdef"},
		"refused after what is open": {verdicts{later: map[string]error{"c": jetstream.ErrNoStreamResponse,
			"d": &jetstream.APIError{Code: 400}}}, 0, "cdef"},
		"a stream that is not there": {verdicts{later: map[string]error{"c": &jetstream.APIError{Code: 404}}}, 0,
			"cdef"},
		"refused before what is open": {verdicts{later: map[string]error{"a": &jetstream.APIError{Code: 400},
			"f": nc.ErrTimeout}}, 1, "f"},
		"all is well, in the end, too": {verdicts{}, 0, ""},
	} {
		out := (&sink{"t", c.v}).Send(context.Background(), batch)
		again := ""
		for _, s := range out.Retry {
			again += s.Name
		}
		if again != c.again || out.Refused != c.refused || (out.Err != nil) != (c.again != "" || c.refused > 0) {
			t.Errorf("%s: again %q, %+v", name, again, out)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Subject: "a b"}, {Subject: "a.*"}, {Subject: "a..b"},
		{Subject: "a", User: "u", Token: publishtest.Secret}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), publishtest.Secret) {
			t.Errorf("%v: %v", o.Subject, err)
		}
	}
	var with nc.Options
	for _, set := range (&line{o: Options{Token: "t", TLS: &tls.Config{}}}).options() {
		must.Succeed(t, set(&with))
	}
	if with.Token != "t" || !with.Secure || with.ReconnectBufSize >= 0 {
		t.Errorf("a connection with a token and TLS has %+v", with)
	}
	s, err := New(Options{Subject: "a.b", Servers: []string{"127.0.0.1:1"}})
	must.Succeed(t, err)
	out := s.Send(t.Context(), make([]publish.Sample, 2))
	if len(out.Retry) != 2 || out.Err == nil || errors.Is(out.Err, context.Canceled) {
		t.Errorf("nobody there: %+v", out)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
