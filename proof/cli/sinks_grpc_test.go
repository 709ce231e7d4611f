package cli_test

import (
	"context"
	"net"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
)

// grpcReceiver is a collector of OTLP over gRPC, on the official service.
type grpcReceiver struct {
	collector.UnimplementedMetricsServiceServer
	receiver
	rpc *grpc.Server
}

func (r *grpcReceiver) start(address string) {
	var l net.Listener
	await(r.t, "the port of the collector is free", func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", address)
		return err == nil
	})
	r.address, r.rpc = l.Addr().String(), grpc.NewServer()
	collector.RegisterMetricsServiceServer(r.rpc, r)
	go func(s *grpc.Server) {
		if err := s.Serve(l); err != nil {
			r.t.Error(err)
		}
	}(r.rpc)
}

func (r *grpcReceiver) stop() { r.rpc.Stop() }

// Export implements collector.MetricsServiceServer.
func (r *grpcReceiver) Export(_ context.Context,
	export *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	r.take(export)
	return &collector.ExportMetricsServiceResponse{}, nil
}
