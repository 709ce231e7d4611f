package otlpgrpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/wiretest"
	"github.com/rota-run/rota/publish/publishtest"
)

// fake is a connection to a collector that does what the script says. The proof has a real server.
type fake struct {
	t *testing.T
	s *publishtest.Script
}

func (fake) Close() error { return nil }

// busy is the error of a collector that says when to come again.
func busy(code codes.Code, wait time.Duration) error {
	said := status.New(code, "quota").Proto()
	if wait > 0 {
		delay, err := anypb.New(durationpb.New(wait))
		if err != nil {
			return err
		}
		info := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), delay.Value)
		said.Details = append(said.Details, &anypb.Any{TypeUrl: retryInfo, Value: info})
	}
	return status.ErrorProto(said)
}

func (f fake) Invoke(ctx context.Context, method string, args, _ any, _ ...grpc.CallOption) error {
	m := f.s.Mood()
	if err := f.s.Meet(ctx, m); err != nil {
		if m == publishtest.Hang {
			return status.FromContextError(ctx.Err()).Err()
		}
		return status.Error(codes.Unavailable, err.Error())
	}
	sent, _ := metadata.FromOutgoingContext(ctx)
	if login := sent.Get("authorization"); method != export || len(login) != 1 || login[0] != "Bearer "+
		publishtest.Secret {
		f.t.Errorf("%s with %v", method, login)
	}
	switch m {
	case publishtest.Refuse:
		return status.Error(codes.InvalidArgument, "bad request of "+publishtest.Secret)
	case publishtest.Expel:
		return status.Error(codes.Unauthenticated, "who is "+publishtest.Secret)
	case publishtest.Busy:
		return busy(codes.ResourceExhausted, f.s.Wait())
	}
	wiretest.Points(*args.(*[]byte), f.s.Take)
	if m == publishtest.Lose {
		return status.Error(codes.Unavailable, "connection reset")
	}
	return nil
}

func TestSuite(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(t *testing.T, s *publishtest.Script) publish.Sink {
		dial := func(string) (connection, error) { return fake{t, s}, nil }
		return &sink{
			service: "rota", login: "Bearer " + publishtest.Secret, secrets: []string{publishtest.Secret},
			servers: []string{"a:1"}, dial: dial, c: fake{t, s},
		}
	}})
}

// says is a connection that answers with an error; without one it has rejected a point.
type says struct {
	err    error
	closed *bool
}

func (s says) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	*reply.(*[]byte) = []byte("\x0a\x02\x08\x01")
	return s.err
}
func (s says) Close() error { *s.closed = true; return nil }

func TestCodes(t *testing.T) {
	t.Parallel()
	batch := []publish.Sample{{Name: "a", Points: []publish.Point{{AtMS: 1}}}}
	for _, c := range []struct {
		err                 error
		retry, login, moves bool
	}{
		{err: nil},
		{err: status.Error(codes.Unavailable, ""), retry: true, moves: true},
		{err: status.Error(codes.DeadlineExceeded, ""), retry: true, moves: true},
		{err: status.Error(codes.Aborted, ""), retry: true, moves: true},
		{err: status.Error(codes.Canceled, ""), retry: true, moves: true},
		{err: status.Error(codes.OutOfRange, ""), retry: true, moves: true},
		{err: status.Error(codes.DataLoss, ""), retry: true, moves: true},
		{err: busy(codes.ResourceExhausted, 0)}, // also a message that is too large
		{err: busy(codes.ResourceExhausted, 2500*time.Millisecond), retry: true},
		{err: busy(codes.Unavailable, 2500*time.Millisecond), retry: true, moves: true},
		{err: status.Error(codes.PermissionDenied, ""), login: true},
		{err: status.Error(codes.Unimplemented, "")},
		{err: errors.New("not of gRPC")},
	} {
		closed := false
		s := &sink{servers: []string{"a:1", "b:1"}, c: says{c.err, &closed},
			dial: func(string) (connection, error) { return says{}, nil }}
		out := s.Send(t.Context(), batch)
		if (len(out.Retry) == 1) != c.retry || (out.Refused == 1) == c.retry || out.Login != c.login ||
			(s.current == 1) != c.moves || closed != c.moves || out.Err == nil {
			t.Errorf("%v: %+v, server %d", c.err, out, s.current)
		}
		dialed := 0
		only := &sink{servers: []string{"a:1"}, c: says{c.err, &closed},
			dial: func(string) (connection, error) { dialed++; return says{}, nil }}
		only.Send(t.Context(), batch)
		if hung := status.Code(c.err) == codes.DeadlineExceeded; (dialed == 1) != hung {
			t.Errorf("%v: the only server is dialed %d times", c.err, dialed)
		}
		if d := waitOf(status.Convert(c.err)); d != out.Wait || d != 0 && d != 2500*time.Millisecond {
			t.Errorf("%v: waits %v", c.err, d)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Token: publishtest.Secret}, {User: "u", Password: publishtest.Secret}} {
		s, err := New(o)
		must.Succeed(t, err)
		k := s.(*sink)
		if k.servers[0] != DefaultServer || k.service != "rota" ||
			strings.Contains(k.text([]byte(k.login+" "+o.Password)), publishtest.Secret) {
			t.Errorf("%+v", k)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
