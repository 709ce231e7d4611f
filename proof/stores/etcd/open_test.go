package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	. "github.com/rota-run/rota/store/etcd"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/rota-run/rota/internal/port"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store"
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

// grpcServer serves what is registered, and returns its address.
func grpcServer(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addrs[0]
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	certFile, keyFile, trusting := certificate(t)
	secure, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true, CertFile: certFile, KeyFile: keyFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(secure.Stop)
	old := grpcServer(t, func(s *grpc.Server) {
		pb.RegisterKVServer(s, oldServer{})
		pb.RegisterMaintenanceServer(s, oldServer{version: "3.3.27"})
	})
	for name, c := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"no endpoint":             {func(o *Options) { o.Endpoints = nil }, []string{"no endpoint", "127.0.0.1:2379"}},
		"password in an endpoint": {func(o *Options) { o.Endpoints = []string{"me:" + secret + "@h:1"} }, []string{"endpoint 1", "host:port"}},
		"endpoint with a scheme":  {func(o *Options) { o.Endpoints = []string{"http://h:1"} }, []string{"endpoint 1", "host:port"}},
		"endpoint without host":   {func(o *Options) { o.Endpoints = []string{"a:1", ":2379"} }, []string{"endpoint 2", "host:port"}},
		"bad prefix":              {func(o *Options) { o.Prefix = "a b" }, []string{"prefix", "not allowed"}},
		"user alone":              {func(o *Options) { o.User = "me" }, []string{"give both"}},
		"nobody listens":          {func(o *Options) { o.Endpoints = []string{nobody(t)} }, []string{"connection refused", "check that etcd runs"}},
		"login, nobody listens":   {func(o *Options) { o.Endpoints, o.User, o.Password = []string{nobody(t)}, "me", secret }, []string{"check that etcd runs"}},
		"password alone":          {func(o *Options) { o.Password = secret }, []string{"give both"}},
		"nobody answers":          {func(o *Options) { o.Endpoints = []string{silent(t)}; o.Timeout = time.Second }, []string{"check that etcd runs", "no answer within 1s"}},
		"no such host":            {func(o *Options) { o.Endpoints = []string{"nowhere.invalid"} }, []string{"nowhere.invalid:2379", "check that etcd runs"}},
		"a web server":            {func(o *Options) { o.Endpoints = []string{web.Listener.Addr().String()} }, []string{"not etcd"}},
		"another gRPC server":     {func(o *Options) { o.Endpoints = []string{grpcServer(t, func(*grpc.Server) {})} }, []string{"not etcd"}},
		"TLS to plain text":       {func(o *Options) { o.TLS = trusting.Clone() }, []string{"leave TLS out"}},
		"plain text to TLS":       {func(o *Options) { o.Endpoints = secure.Endpoints() }, []string{"try with TLS"}},
		"unknown authority":       {func(o *Options) { o.Endpoints, o.TLS = secure.Endpoints(), &tls.Config{} }, []string{"give the certificate of the authority"}},
		"another name": {func(o *Options) {
			o.Endpoints, o.TLS = secure.Endpoints(), trusting.Clone()
			o.TLS.ServerName = "other"
		}, []string{"another name"}},
		"too old":    {func(o *Options) { o.Endpoints = []string{old} }, []string{"etcd 3.3.27", "at least 3.4"}},
		"must exist": {func(o *Options) { o.MustExist = true }, []string{"no Rota store", "not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			c.change(&o)
			s, err := Open(deadline(t), o)
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
				t.Errorf("error %q tells the password", err)
			}
		})
	}
}

func TestOpenWithTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusting := certificate(t)
	secure, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true, CertFile: certFile, KeyFile: keyFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(secure.Stop)
	s := openWith(t, Options{Endpoints: secure.Endpoints(), TLS: trusting, Timeout: 20 * time.Second})
	if _, err := s.Append(deadline(t), record); err != nil {
		t.Fatal(err)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, value string
		want       string
	}{
		"newer":         {"format", "rota 2", "format 2"},
		"foreign":       {"format", "something else", "not a Rota store"},
		"no number":     {"format", "rota", "not a Rota store"},
		"foreign keys":  {"registry/pods", "x", "registry/pods"},
		"what is there": {"format", "rota 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			if _, err := bare(t).Put(deadline(t), o.Prefix+"/"+c.key, c.value); err != nil {
				t.Fatal(err)
			}
			s, err := Open(deadline(t), o)
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
	cancel(lateError{})
	if _, err := Open(ctx, options()); !errors.Is(err, lateError{}) {
		t.Errorf("error %v, want the cause", err)
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	o := options()
	o.Endpoints = []string{silent(t)}
	time.AfterFunc(50*time.Millisecond, func() { cancel(lateError{}) })
	for _, user := range []string{"", "me"} {
		o.User, o.Password = user, user
		if _, err := Open(ctx, o); !errors.Is(err, lateError{}) {
			t.Errorf("user %q: error %v, want the cause", user, err)
		}
	}
}

// TestReadOnly checks that an observer sees all and changes nothing: the server's revision stays.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	member, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	o := Options{Endpoints: member.Endpoints(), Timeout: 20 * time.Second}
	o.ReadOnly = true
	if _, err := Open(deadline(t), o); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("open of nothing: error %v, want ErrNotFound", err)
	}
	o.ReadOnly = false
	writer := openWith(t, o)
	ctx := deadline(t)
	if _, err := writer.Append(ctx, record); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	s := openWith(t, o)
	before, err := s.now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, putErr := s.Put(ctx, store.Doc{Key: "a"})
	_, appendErr := s.Append(ctx, nil)
	_, sessionErr := s.OpenSession(ctx, time.Minute)
	for call, err := range map[string]error{
		"put": putErr, "append": appendErr, "session": sessionErr, "delete": s.Delete(ctx, "a", "1"),
		"save": s.SaveSnapshot(ctx, store.Record{Index: 1}), "trim": s.Trim(ctx, 1),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%s: error %v, want a refusal", call, err)
		}
	}
	if page, err := s.Read(ctx, 0, 10); err != nil || page.Head != 1 {
		t.Errorf("read: head %d, %v", page.Head, err)
	}
	if after, err := s.now(ctx); err != nil || after != before {
		t.Errorf("revision %d, %v; want %d as before", after, err, before)
	}
	leases, err := s.client.Leases(ctx)
	if err != nil || len(leases.Leases) != 0 {
		t.Errorf("leases %v, %v; want none", leases, err)
	}
}

// TestAuth has users who may all, something and nothing.
func TestAuth(t *testing.T) {
	t.Parallel()
	member, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	enableAuth(t, member.Endpoints())
	o := Options{Endpoints: member.Endpoints(), Prefix: "team/rota", Timeout: patience}
	for name, c := range map[string]struct{ user, password, prefix, want string }{
		"no user":          {"", "", "team/rota", "wants a user"},
		"unknown user":     {"nobody", secret, "team/rota", "check user and password"},
		"wrong password":   {"alice", secret + "!", "team/rota", "check user and password"},
		"no permission":    {"bob", secret, "team/rota", "readwrite"},
		"another's prefix": {"alice", secret, "other", "readwrite"},
	} {
		o := o
		o.User, o.Password, o.Prefix = c.user, c.password, c.prefix
		_, err := Open(deadline(t), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v, want %q and not the password", name, err, c.want)
		}
	}
	o.User, o.Password = "alice", secret
	s := openWith(t, o)
	useAll(t, s)
}

func enableAuth(t *testing.T, endpoints []string) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := deadline(t)
	_, err = c.RoleAdd(ctx, "rota")
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
	if err := errors.Join(append(steps, err)...); err != nil {
		t.Fatal(err)
	}
}

// useAll makes a call of each kind.
func useAll(t *testing.T, s *Store) {
	t.Helper()
	ctx := deadline(t)
	session, err := s.OpenSession(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	v, putErr := session.Put(ctx, store.Doc{Key: "pulse"})
	_, appendErr := s.Append(ctx, record)
	_, listErr := s.List(ctx, "")
	_, readErr := s.Read(ctx, 0, 1)
	hints, watchErr := s.Watch(ctx, "")
	saveErr, trimErr := s.SaveSnapshot(ctx, store.Record{Index: 1}), s.Trim(ctx, 1)
	_, snapErr := s.Snapshot(ctx)
	if err := errors.Join(putErr, appendErr, listErr, readErr, watchErr, saveErr, trimErr, snapErr); err != nil {
		t.Fatal(err)
	}
	<-hints
	if err := s.Delete(ctx, "pulse", v); err != nil {
		t.Error(err)
	}
	select {
	case <-hints:
	case <-ctx.Done():
		t.Error("no hint after a deletion")
	}
	if err := session.Close(ctx); err != nil {
		t.Error(err)
	}
}
