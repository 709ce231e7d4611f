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
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// pretender answers as an etcd of a version.
type pretender struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	version string
	made    func(key string) (bool, error) // whether a put of a key is made, and what the answer says
	rows    sync.Map                       // *mvccpb.KeyValue by key
}

func (s *pretender) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	out := &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: 7}, Succeeded: true}
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put != nil {
			made, err := s.made(string(put.Key))
			if made {
				s.rows.Store(string(put.Key), &mvccpb.KeyValue{Key: put.Key, Value: put.Value, ModRevision: 7})
			}
			return out, err
		}
		found := &pb.RangeResponse{}
		if row, ok := s.rows.Load(string(op.GetRequestRange().Key)); ok {
			found.Kvs = []*mvccpb.KeyValue{row.(*mvccpb.KeyValue)}
		}
		out.Responses = append(out.Responses,
			&pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: found}})
	}
	return out, nil
}

func (s *pretender) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: s.version}, nil
}

// serve serves what it is until the test ends, and returns the address.
func (s *pretender) serve(t testing.TB) string {
	t.Helper()
	all := grpc.NewServer()
	pb.RegisterKVServer(all, s)
	pb.RegisterMaintenanceServer(all, s)
	return serveGRPC(t, all)
}

// TestWhatBecameOfAChange: if the answer does not say whether a change was made, the driver reads it back.
func TestWhatBecameOfAChange(t *testing.T) {
	t.Parallel()
	full, broken := rpctypes.ErrGRPCNoSpace, status.Error(codes.Unavailable, "broken")
	for name, c := range map[string]struct { // order-free: each has a server of its own
		key          string // below the prefix
		made         bool
		answer, want error
	}{
		"full before it":            {"d/a", false, full, store.ErrUnavailable},
		"full by it":                {"d/a", true, full, store.ErrUnknown},
		"a store that was made":     {"format", true, broken, nil},
		"a store that was not made": {"format", false, broken, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.Endpoints = []string{(&pretender{version: "3.5.0", made: func(key string) (bool, error) {
				if key == o.Prefix+"/"+c.key {
					return c.made, c.answer
				}
				return true, nil
			}}).serve(t)}
			d, err := etcd.OpenDriver(rig.Deadline(t), o)
			if err == nil {
				defer d.Close()
				if c.key != "format" {
					_, err = d.Swap(rig.Deadline(t), driver.Op{Key: c.key, Name: "test"})
				}
			}
			if !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) != errors.Is(c.want, store.ErrUnknown) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestAnyServerIsEnough opens where the first server is away.
func TestAnyServerIsEnough(t *testing.T) {
	t.Parallel()
	openWith(t, through(options(), rig.Nobody(t), shared.Endpoints()[0]))
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
	old := (&pretender{version: "3.3.27"}).serve(t)
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
		"foreign":       {"format", "other 2", "not a Rota store"},
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
	t.Run("may only read", func(t *testing.T) {
		openWith(t, o)
		o := o
		o.User = "carol"
		rig.Refused(t, etcd.Open, o, nil, "readwrite")
		o.ReadOnly = true
		openWith(t, o)
	})
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
	var steps []error
	for role, may := range map[string]clientv3.PermissionType{ // order-free: each by itself
		"rota": clientv3.PermissionType(clientv3.PermReadWrite), "look": clientv3.PermissionType(clientv3.PermRead),
	} {
		_, err := c.RoleAdd(ctx, role)
		_, err2 := c.RoleGrantPermission(ctx, role, "team/rota/", clientv3.GetPrefixRangeEnd("team/rota/"), may)
		steps = append(steps, err, err2)
	}
	for _, user := range []string{"root", "alice", "bob", "carol"} {
		_, err := c.UserAdd(ctx, user, rig.Secret)
		steps = append(steps, err)
	}
	for user, role := range map[string]string{"root": "root", "alice": "rota", "carol": "look"} { // order-free: as above
		_, err := c.UserGrantRole(ctx, user, role)
		steps = append(steps, err)
	}
	_, err := c.AuthEnable(ctx)
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
