package zookeeper_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// deaf listens and calls each for every connection. It returns its address.
func deaf(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
			each(c)
		}
		for _, c := range open {
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// closedPort returns an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	return addrs[0]
}

// wantRefusal checks that Open fails with an error that contains all parts and no password.
func wantRefusal(t *testing.T, o zookeeper.Options, is error, parts ...string) {
	t.Helper()
	err := refusal(t, o)
	for end := time.Now().Add(rig.Patience); errors.Is(err, store.ErrUnavailable) && !saysAll(err, parts) && time.Now().Before(end); {
		err = refusal(t, o) // on a busy machine the answer of what listens there may come too late
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %v is not %v", err, is)
	}
	if errors.Is(err, store.ErrUnknown) {
		t.Errorf("error %v says that the outcome is unknown", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if o.Password != "" && strings.Contains(err.Error(), o.Password) {
		t.Errorf("error %q contains the password", err)
	}
}

// refusal returns the error of Open.
func refusal(t *testing.T, o zookeeper.Options) error {
	t.Helper()
	s, err := zookeeper.Open(rig.Deadline(t), o)
	if err == nil {
		s.Close()
		t.Fatalf("open %v%s: no error", o.Servers, o.Path)
	}
	return err
}

func saysAll(err error, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(err.Error(), part) })
}

// TestOpenSaysWhatTheServersAre opens stores at addresses where no ZooKeeper server answers.
func TestOpenSaysWhatTheServersAre(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for _, c := range []struct {
		name  string
		o     zookeeper.Options
		parts []string
	}{
		{"nobody listens", zookeeper.Options{Servers: []string{closedPort(t)}}, []string{"refused", "whether the servers run"}},
		{"no such name", zookeeper.Options{Servers: []string{"no-such-host.invalid:2181"}}, []string{"no-such-host.invalid", "look at the addresses"}},
		{"HTTP", zookeeper.Options{Servers: []string{address(web)}}, []string{"not ZooKeeper", "an HTTP server", "look at the port"}},
		{"silent", zookeeper.Options{Servers: []string{deaf(t, func(net.Conn) {})}}, []string{"does not answer"}},
		{"hangs up", zookeeper.Options{Servers: []string{deaf(t, func(c net.Conn) { c.Close() })}}, []string{"handshake"}},
		{"garbage", zookeeper.Options{Servers: []string{deaf(t, func(c net.Conn) { c.Write([]byte("\xff\xff\xff\xffgarbage")) })}}, []string{"not ZooKeeper"}},
		{"TLS, unknown authority", zookeeper.Options{Servers: []string{address(secure)}, TLS: &tls.Config{}}, []string{"certificate", "authority"}},
		{"TLS on a plain port", zookeeper.Options{Servers: []string{address(web)}, TLS: &tls.Config{}}, []string{"does not speak TLS", "secureClientPort"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Timeout = 8 * time.Second // an attempt has 3 s of it, on a busy machine too
			wantRefusal(t, c.o, store.ErrUnavailable, c.parts...)
		})
	}
}

// TestOpenWithoutQuorum opens a store at the only one of three servers that is left.
func TestOpenWithoutQuorum(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Nodes: 3})
	c.Kill(0)
	c.Kill(1)
	wantRefusal(t, zookeeper.Options{Servers: c.Servers()[2:], Timeout: 8 * time.Second}, store.ErrUnavailable, "no quorum")
}

// TestOpenLooksAtWhatIsThere opens paths that hold nothing, something else, or are being made by others.
func TestOpenLooksAtWhatIsThere(t *testing.T) {
	t.Parallel()
	addrs, ctx := servers(t), rig.Deadline(t)
	c := nodesOf(t, zookeeper.Options{Servers: addrs})
	t.Run("must exist", func(t *testing.T) {
		o := zookeeper.Options{Servers: addrs, Path: freshPath(t), MustExist: true}
		wantRefusal(t, o, store.ErrNotFound, "no store", o.Path)
		wantRefusal(t, zookeeper.Options{Servers: addrs, Path: o.Path, ReadOnly: true}, store.ErrNotFound, "no store")
		if there, _, err := c.Exists(o.Path); there || err != nil {
			t.Errorf("Open created %s: %v", o.Path, err)
		}
	})
	for data, part := range map[string]string{"rota 3\n": "newer rota", "rota 1\n": "submit the jobs again", "something": "something else", "rota": "something else"} {
		o := zookeeper.Options{Servers: addrs, Path: "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")}
		c.create(t, o.Path, []byte(data), zk.FlagPersistent)
		wantRefusal(t, o, nil, part)
	}
	t.Run("an empty node is taken", func(t *testing.T) {
		o := zookeeper.Options{Servers: addrs, Path: "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")}
		c.create(t, o.Path, nil, zk.FlagPersistent)
		if _, err := openWith(t, o).Append(ctx, []byte("x")); err != nil {
			t.Error(err)
		}
	})
	t.Run("opened by many at once", func(t *testing.T) {
		o := zookeeper.Options{Servers: addrs, Path: freshPath(t)}
		errs := make(chan error)
		for range 8 {
			go func() {
				s, err := zookeeper.Open(ctx, o)
				if err == nil {
					s.Close()
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestUserAlone opens a store with a user, which refuses everybody else.
func TestUserAlone(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), User: "rota", Password: "correct-horse"}
	s, link, tap := openTapped(t, o)
	ctx := rig.Deadline(t)
	if _, err := s.Put(ctx, store.Doc{Key: "a/b"}); err != nil {
		t.Fatal(err)
	}
	session, err := s.OpenSession(ctx, time.Minute)
	must.Succeed(t, err)
	if _, err := session.Put(ctx, store.Doc{Key: "a/c"}); err != nil {
		t.Errorf("put with the session of a user: %v", err)
	}
	if _, err := openWith(t, o).Get(ctx, "a/b"); err != nil {
		t.Errorf("the same user: %v", err)
	}
	wantRefusal(t, zookeeper.Options{Servers: o.Servers, Path: o.Path}, zk.ErrNoAuth, "refuses access")
	wantRefusal(t, zookeeper.Options{Servers: o.Servers, Path: o.Path, User: "rota", Password: "wrong-horse"}, zk.ErrNoAuth, "refuses access")
	connections := len(tap.granted())
	link.Reset() // credentials are sent again on each connection
	rig.Eventually(t, "the handle is connected again", func() bool { return len(tap.granted()) > connections })
	if _, err := s.Get(ctx, "a/b"); err != nil {
		t.Errorf("after a new connection: %v", err)
	}
}

// TestReadOnly reads through a handle that was opened for reading only, and tries to write.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	w := openWith(t, o)
	index, err := w.Append(ctx, []byte("x"))
	must.Succeed(t, err)
	o.ReadOnly = true
	r := openWith(t, o)
	if page, err := r.Read(ctx, 0, 1); err != nil || len(page.Records) != 1 {
		t.Errorf("read: %+v, %v", page, err)
	}
	for name, call := range map[string]func() error{
		"append":       func() error { _, err := r.Append(ctx, nil); return err },
		"put":          func() error { _, err := r.Put(ctx, store.Doc{Key: "a"}); return err },
		"delete":       func() error { return r.Delete(ctx, "a", "1") },
		"save":         func() error { return r.SaveSnapshot(ctx, store.Record{Index: index}) },
		"trim":         func() error { return r.Trim(ctx, index) },
		"open session": func() error { _, err := r.OpenSession(ctx, time.Second); return err },
	} {
		if err := call(); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s through a handle for reading only: %v", name, err)
		}
	}
}

// TestThroughTLS connects through TLS in front of a server. The certificate is verified for the given address.
func TestThroughTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // for its certificate, which is for 127.0.0.1 and example.com
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	target := servers(t)[0]
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	must.Succeed(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { forward(c, target) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	o := zookeeper.Options{Servers: []string{l.Addr().String()}, Path: freshPath(t), TLS: &tls.Config{RootCAs: roots}}
	s, err := zookeeper.Open(rig.Deadline(t), o)
	must.Succeed(t, err)
	session, err := s.OpenSession(rig.Deadline(t), time.Minute)
	must.Succeed(t, err)
	if _, err := session.Put(rig.Deadline(t), store.Doc{Key: "a"}); err != nil {
		t.Error(err)
	}
	s.Close()
	o.TLS, o.Timeout = &tls.Config{RootCAs: roots, ServerName: "zk.example.org"}, 8*time.Second
	wantRefusal(t, o, store.ErrUnavailable, "zk.example.org", "certificate")
}

// forward passes bytes between a connection and a target until one of them ends.
func forward(c net.Conn, target string) {
	defer c.Close()
	up, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		io.Copy(up, c)
		up.Close()
	}()
	io.Copy(c, up)
}

// TestOpenEndsWithItsContext cancels Open while it connects.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	addr := deaf(t, func(net.Conn) { cancel(why) })
	if _, err := zookeeper.Open(ctx, zookeeper.Options{Servers: []string{addr}, Timeout: time.Hour}); !errors.Is(err, why) {
		t.Errorf("open, cancelled while it connects: %v, want %v", err, why)
	}
}
