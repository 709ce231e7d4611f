package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	server "github.com/rota-run/rota/proof/server/etcd"

	"google.golang.org/grpc"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// oldServer answers as an etcd of a version, with nothing in it.
type oldServer struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	version string
}

func (oldServer) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	out := &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: true}
	for range r.Success {
		out.Responses = append(out.Responses,
			&pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{}}})
	}
	return out, nil
}

func (s oldServer) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: s.version}, nil
}

// serveGRPC serves until the test ends, and returns the address.
func serveGRPC(t testing.TB, s *grpc.Server) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	certFile, keyFile, trusting := certificate(t)
	secure := onServer(t, server.Options{CertFile: certFile, KeyFile: keyFile})
	ancient := grpc.NewServer()
	pb.RegisterKVServer(ancient, oldServer{})
	pb.RegisterMaintenanceServer(ancient, oldServer{version: "3.3.27"})
	old := serveGRPC(t, ancient)
	with := rig.With(options())
	at := func(endpoint string) etcd.Options { return through(options(), endpoint) }
	overTLS := func(c *tls.Config, name string) etcd.Options {
		o := at(secure.Endpoints[0])
		o.TLS = c.Clone()
		o.TLS.ServerName = name
		return o
	}
	rig.Refusals(t, etcd.Open, map[string]rig.Refusal[etcd.Options]{
		"nobody listens": rig.Says(at(rig.Nobody(t)), nil, "connection refused", "check that etcd runs"),
		"login, nobody listens": rig.Says(with(func(o *etcd.Options) {
			o.Endpoints, o.User, o.Password = []string{rig.Nobody(t)}, "me", rig.Secret
		}), nil, "check that etcd runs"),
		"nobody answers": rig.Says(with(func(o *etcd.Options) {
			o.Endpoints, o.Timeout = []string{rig.Silent(t)}, time.Second
		}), nil, "check that etcd runs", "no answer within 1s"),
		"no such host":        rig.Says(at("nowhere.invalid"), nil, "nowhere.invalid:2379", "check that etcd runs"),
		"a web server":        rig.Says(at(web.Listener.Addr().String()), nil, "not etcd"),
		"another gRPC server": rig.Says(at(serveGRPC(t, grpc.NewServer())), nil, "not etcd"),
		"TLS to plain text": rig.Says(with(func(o *etcd.Options) { o.TLS = trusting.Clone() }), nil,
			"leave TLS out"),
		"plain text to TLS": rig.Says(at(secure.Endpoints[0]), nil, "try with TLS"),
		"unknown authority": rig.Says(overTLS(&tls.Config{}, ""), nil, "give the certificate of the authority"),
		"another name":      rig.Says(overTLS(trusting, "other"), nil, "another name"),
		"too old":           rig.Says(at(old), nil, "etcd 3.3.27", "at least 3.4"),
		"observed":          rig.Says(with(func(o *etcd.Options) { o.ReadOnly = true }), store.ErrNotFound, "no Rota store"),
		"must exist": rig.Says(with(func(o *etcd.Options) { o.MustExist = true }), store.ErrNotFound, "no Rota store",
			"not found"),
	})
}

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	o := options()
	o.Endpoints = []string{rig.Silent(t)}
	rig.Cancelled(t, etcd.Open, o)
	o.User, o.Password = "me", rig.Secret
	rig.Cancelled(t, etcd.Open, o)
}

func TestOpenWithTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusting := certificate(t)
	secure := onServer(t, server.Options{CertFile: certFile, KeyFile: keyFile})
	secure.TLS = trusting
	s := openWith(t, secure)
	must.Succeed(t, must.Err(s.Append(rig.Deadline(t), record)))
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, value string
		want       string
	}{
		"newer":         {"format", "rota 3", "format 3"},
		"older":         {"format", "rota 1", "submit the jobs again"},
		"foreign":       {"format", "something else", "not a Rota store"},
		"no number":     {"format", "rota", "not a Rota store"},
		"foreign keys":  {"registry/pods", "x", "registry/pods"},
		"what is there": {"format", "rota 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			must.Succeed(t, must.Err(bare(t, o.Endpoints).Put(rig.Deadline(t), o.Prefix+"/"+c.key, c.value)))
			if c.want == "" {
				openWith(t, o)
				return
			}
			rig.Refused(t, etcd.Open, o, nil, c.want)
		})
	}
}

// TestAuth has users with all permissions, with none, and with a wrong password.
func TestAuth(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{})
	o.Prefix, o.Timeout = "team/rota", rig.Patience
	enableAuth(t, bare(t, o.Endpoints))
	for name, c := range map[string]struct{ user, password, prefix, want string }{
		"no user":          {"", "", "team/rota", "wants a user"},
		"unknown user":     {"nobody", rig.Secret, "team/rota", "check user and password"},
		"wrong password":   {"alice", rig.Secret + "!", "team/rota", "check user and password"},
		"no permission":    {"bob", rig.Secret, "team/rota", "readwrite"},
		"another's prefix": {"alice", rig.Secret, "other", "readwrite"},
	} {
		o := o
		o.User, o.Password, o.Prefix = c.user, c.password, c.prefix
		t.Run(name, func(t *testing.T) { rig.Refused(t, etcd.Open, o, nil, c.want) })
	}
	o.User, o.Password = "alice", rig.Secret
	alice := rig.Place[etcd.Options, *etcd.Store]{Open: etcd.Open, Fresh: func(testing.TB) etcd.Options {
		o := o
		o.Prefix = fmt.Sprintf("team/rota/%d", prefixes.Add(1))
		return o
	}}
	t.Run("log", func(t *testing.T) { storetest.Log(t, alice.Empty) })
	t.Run("sessions", func(t *testing.T) { storetest.Sessions(t, alice.Empty) })
}

func enableAuth(t *testing.T, c *clientv3.Client) {
	t.Helper()
	ctx := rig.Deadline(t)
	_, err := c.RoleAdd(ctx, "rota")
	steps := []error{err}
	_, err = c.RoleGrantPermission(ctx, "rota", "team/rota/", clientv3.GetPrefixRangeEnd("team/rota/"),
		clientv3.PermissionType(clientv3.PermReadWrite))
	steps = append(steps, err)
	for _, user := range []string{"root", "alice", "bob"} {
		_, err := c.UserAdd(ctx, user, rig.Secret)
		steps = append(steps, err)
	}
	_, err = c.UserGrantRole(ctx, "root", "root")
	steps = append(steps, err)
	_, err = c.UserGrantRole(ctx, "alice", "rota")
	steps = append(steps, err)
	_, err = c.AuthEnable(ctx)
	must.Succeed(t, errors.Join(append(steps, err)...))
}

// certificate is rig.Certificate in files, as the server wants it.
func certificate(t *testing.T) (certFile, keyFile string, client *tls.Config) {
	t.Helper()
	cert, key, client := rig.Certificate(t)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must.Succeed(t, os.WriteFile(certFile, []byte(cert), 0o600))
	must.Succeed(t, os.WriteFile(keyFile, []byte(key), 0o600))
	return certFile, keyFile, client
}
