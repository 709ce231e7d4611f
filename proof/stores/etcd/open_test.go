package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	server "github.com/rota-run/rota/proof/server/etcd"

	"google.golang.org/grpc"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

// secret must not be seen in any error.
const secret = "correct-horse"

// oldServer answers as an etcd of a version, with nothing in it.
type oldServer struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	version string
}

func (oldServer) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	out := &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: true}
	for range r.Success {
		out.Responses = append(out.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{}}})
	}
	return out, nil
}

func (s oldServer) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: s.version}, nil
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	return addrs[0]
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
	for name, c := range map[string]struct {
		change func(*etcd.Options)
		want   []string
	}{
		"nobody listens":        {func(o *etcd.Options) { o.Endpoints = []string{nobody(t)} }, []string{"connection refused", "check that etcd runs"}},
		"login, nobody listens": {func(o *etcd.Options) { o.Endpoints, o.User, o.Password = []string{nobody(t)}, "me", secret }, []string{"check that etcd runs"}},
		"nobody answers":        {func(o *etcd.Options) { o.Endpoints = []string{silent(t)}; o.Timeout = time.Second }, []string{"check that etcd runs", "no answer within 1s"}},
		"no such host":          {func(o *etcd.Options) { o.Endpoints = []string{"nowhere.invalid"} }, []string{"nowhere.invalid:2379", "check that etcd runs"}},
		"a web server":          {func(o *etcd.Options) { o.Endpoints = []string{web.Listener.Addr().String()} }, []string{"not etcd"}},
		"another gRPC server":   {func(o *etcd.Options) { o.Endpoints = []string{serveGRPC(t, grpc.NewServer())} }, []string{"not etcd"}},
		"TLS to plain text":     {func(o *etcd.Options) { o.TLS = trusting.Clone() }, []string{"leave TLS out"}},
		"plain text to TLS":     {func(o *etcd.Options) { o.Endpoints = secure.Endpoints }, []string{"try with TLS"}},
		"unknown authority":     {func(o *etcd.Options) { o.Endpoints, o.TLS = secure.Endpoints, &tls.Config{} }, []string{"give the certificate of the authority"}},
		"another name": {func(o *etcd.Options) {
			o.Endpoints, o.TLS = secure.Endpoints, trusting.Clone()
			o.TLS.ServerName = "other"
		}, []string{"another name"}},
		"too old":    {func(o *etcd.Options) { o.Endpoints = []string{old} }, []string{"etcd 3.3.27", "at least 3.4"}},
		"must exist": {func(o *etcd.Options) { o.MustExist = true }, []string{"no Rota store", "not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			c.change(&o)
			s, err := etcd.Open(rig.Deadline(t), o)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q shows the password", err)
			}
		})
	}
}

func TestOpenWithTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusting := certificate(t)
	secure := onServer(t, server.Options{CertFile: certFile, KeyFile: keyFile})
	secure.TLS = trusting
	s := openWith(t, secure)
	if _, err := s.Append(rig.Deadline(t), record); err != nil {
		t.Fatal(err)
	}
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
			if _, err := bare(t, o.Endpoints).Put(rig.Deadline(t), o.Prefix+"/"+c.key, c.value); err != nil {
				t.Fatal(err)
			}
			s, err := etcd.Open(rig.Deadline(t), o)
			if err == nil {
				s.Close()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errGaveUp)
	if _, err := etcd.Open(ctx, options()); !errors.Is(err, errGaveUp) {
		t.Errorf("error %v, want the cause", err)
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	o := options()
	o.Endpoints = []string{silent(t)}
	time.AfterFunc(50*time.Millisecond, func() { cancel(errGaveUp) })
	for _, user := range []string{"", "me"} {
		o.User, o.Password = user, user
		if _, err := etcd.Open(ctx, o); !errors.Is(err, errGaveUp) {
			t.Errorf("user %q: error %v, want the cause", user, err)
		}
	}
}

// TestReadOnly: an observer does not make a store, and reads one. That it changes nothing is a promise of package full.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	o := options()
	o.ReadOnly = true
	if _, err := etcd.Open(rig.Deadline(t), o); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("open of nothing: error %v, want ErrNotFound", err)
	}
	o.ReadOnly = false
	fill(t, openWith(t, o), 1)
	o.ReadOnly = true
	if head := headOf(t, openWith(t, o)); head != 1 {
		t.Errorf("the observer sees head %d", head)
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
		"unknown user":     {"nobody", secret, "team/rota", "check user and password"},
		"wrong password":   {"alice", secret + "!", "team/rota", "check user and password"},
		"no permission":    {"bob", secret, "team/rota", "readwrite"},
		"another's prefix": {"alice", secret, "other", "readwrite"},
	} {
		o := o
		o.User, o.Password, o.Prefix = c.user, c.password, c.prefix
		_, err := etcd.Open(rig.Deadline(t), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v, want %q and not the password", name, err, c.want)
		}
	}
	o.User, o.Password = "alice", secret
	s := openWith(t, o)
	useAll(t, s)
}

func enableAuth(t *testing.T, c *clientv3.Client) {
	t.Helper()
	ctx := rig.Deadline(t)
	_, err := c.RoleAdd(ctx, "rota")
	steps := []error{err}
	_, err = c.RoleGrantPermission(ctx, "rota", "team/rota/", clientv3.GetPrefixRangeEnd("team/rota/"), clientv3.PermissionType(clientv3.PermReadWrite))
	steps = append(steps, err)
	for _, user := range []string{"root", "alice", "bob"} {
		_, err := c.UserAdd(ctx, user, secret)
		steps = append(steps, err)
	}
	_, err = c.UserGrantRole(ctx, "root", "root")
	steps = append(steps, err)
	_, err = c.UserGrantRole(ctx, "alice", "rota")
	steps = append(steps, err)
	_, err = c.AuthEnable(ctx)
	must.Succeed(t, errors.Join(append(steps, err)...))
}

// useAll calls each kind of method.
func useAll(t *testing.T, s *etcd.Store) {
	t.Helper()
	ctx := rig.Deadline(t)
	session, err := s.OpenSession(ctx, time.Minute)
	must.Succeed(t, err)
	v, putErr := session.Put(ctx, store.Doc{Key: "heartbeat"})
	_, appendErr := s.Append(ctx, record)
	_, listErr := s.List(ctx, "")
	_, readErr := s.Read(ctx, 0, 1)
	hints, watchErr := s.Watch(ctx, "")
	saveErr, trimErr := s.SaveSnapshot(ctx, store.Record{Index: 1}), s.Trim(ctx, 1)
	_, snapErr := s.Snapshot(ctx)
	must.Succeed(t, errors.Join(putErr, appendErr, listErr, readErr, watchErr, saveErr, trimErr, snapErr))
	rig.Hinted(t, hints)
	if err := s.Delete(ctx, "heartbeat", v); err != nil {
		t.Error(err)
	}
	rig.Hinted(t, hints)
	if err := session.Close(ctx); err != nil {
		t.Error(err)
	}
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
