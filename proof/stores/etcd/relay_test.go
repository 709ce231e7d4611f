package etcd_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/rota-run/rota/internal/proof/must"
)

// The methods of etcd that tests look at.
const (
	methodTxn   = "/etcdserverpb.KV/Txn"
	methodRenew = "/etcdserverpb.Lease/LeaseKeepAlive"
)

// relay is a gRPC proxy before an etcd server. A link breaks bytes; a relay knows which call they belong to.
type relay struct {
	server *grpc.ClientConn
	// inspect is called with each message of a client before it passes. It may wait until ctx ends; its error ends the call.
	inspect func(ctx context.Context, method string) error
}

// startRelay returns the address of a relay.
func startRelay(t testing.TB, server string, inspect func(ctx context.Context, method string) error) string {
	t.Helper()
	conn, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	must.Succeed(t, err)
	t.Cleanup(func() { conn.Close() })
	r := relay{conn, inspect}
	return serveGRPC(t, grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(r.pass),
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true)))
}

// serveGRPC serves until the test ends, and returns the address.
func serveGRPC(t testing.TB, s *grpc.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

// pass passes one call, which may be a stream.
func (r relay) pass(_ any, client grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(client)
	md, _ := metadata.FromIncomingContext(client.Context())
	ctx, cancel := context.WithCancelCause(metadata.NewOutgoingContext(client.Context(), md))
	defer cancel(nil)
	server, err := r.server.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return err
	}
	go func() { // ends with the call
		if err := r.passRequests(ctx, method, client, server); err != nil {
			cancel(err)
		}
	}()
	err = passReplies(client, server)
	if refusal := context.Cause(ctx); refusal != nil && client.Context().Err() == nil {
		return refusal
	}
	return err
}

func (r relay) passRequests(ctx context.Context, method string, client grpc.ServerStream, server grpc.ClientStream) error {
	for {
		var f frame
		if err := client.RecvMsg(&f); errors.Is(err, io.EOF) {
			return server.CloseSend()
		} else if err != nil {
			return err
		}
		if err := r.inspect(ctx, method); err != nil {
			return err
		}
		if err := server.SendMsg(&f); err != nil {
			return nil //nolint:nilerr // the replies end with the reason
		}
	}
}

func passReplies(client grpc.ServerStream, server grpc.ClientStream) error {
	for {
		var f frame
		if err := server.RecvMsg(&f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := client.SendMsg(&f); err != nil {
			return err
		}
	}
}

// frame is a message that is not decoded.
type frame []byte

// frames is the codec of frames.
type frames struct{}

func (frames) Marshal(v any) ([]byte, error)      { return *v.(*frame), nil }
func (frames) Unmarshal(data []byte, v any) error { *v.(*frame) = append(frame{}, data...); return nil }
func (frames) Name() string                       { return "proto" }
