package zookeeper_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	. "github.com/rota-run/rota/store/zookeeper"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/port"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/store"
)

// raw is the bare client, for what only others do.
func raw(t testing.TB, addrs []string) *zk.Conn {
	t.Helper()
	l, err := newLink(linkOptions{servers: addrs, timeout: 10 * time.Second, wait: patience, logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	if err := l.await(deadline(t)); err != nil {
		t.Fatal(err)
	}
	return l.conn
}

// deaf listens and does with each connection what it is told.
func deaf(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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

func closedPort(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addrs[0]
}

// wantRefusal opens, and expects an error that names all parts and no password.
func wantRefusal(t *testing.T, o Options, is error, parts ...string) {
	t.Helper()
	err := refusal(t, o)
	for end := time.Now().Add(patience); errors.Is(err, store.ErrUnavailable) && !saysAll(err, parts) && time.Now().Before(end); {
		err = refusal(t, o) // on a busy machine what is there may be too late to be recognised
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
		t.Errorf("error %q holds the password", err)
	}
}

func refusal(t *testing.T, o Options) error {
	t.Helper()
	s, err := Open(deadline(t), o)
	if err == nil {
		s.Close()
		t.Fatalf("open %v%s: no error", o.Servers, o.Path)
	}
	return err
}

func saysAll(err error, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(err.Error(), part) })
}

func TestOpenTellsWhatTheServersAre(t *testing.T) {
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
		o     Options
		parts []string
	}{
		{"nobody listens", Options{Servers: []string{closedPort(t)}}, []string{"refused", "whether the servers run"}},
		{"no such name", Options{Servers: []string{"no-such-host.invalid:2181"}}, []string{"no-such-host.invalid", "look at the addresses"}},
		{"HTTP", Options{Servers: []string{address(web)}}, []string{"not ZooKeeper", "an HTTP server", "look at the port"}},
		{"silent", Options{Servers: []string{deaf(t, func(net.Conn) {})}}, []string{"does not answer"}},
		{"hangs up", Options{Servers: []string{deaf(t, func(c net.Conn) { c.Close() })}}, []string{"handshake"}},
		{"garbage", Options{Servers: []string{deaf(t, func(c net.Conn) { c.Write([]byte("\xff\xff\xff\xffgarbage")) })}}, []string{"not ZooKeeper"}},
		{"TLS, unknown authority", Options{Servers: []string{address(secure)}, TLS: &tls.Config{}}, []string{"certificate", "authority"}},
		{"TLS on a plain port", Options{Servers: []string{address(web)}, TLS: &tls.Config{}}, []string{"does not speak TLS", "secureClientPort"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Timeout = 8 * time.Second // an attempt has 3 s of it, on a busy machine too
			wantRefusal(t, c.o, store.ErrUnavailable, c.parts...)
		})
	}
}

func TestOpenWithoutQuorum(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Nodes: 3})
	c.Kill(0)
	c.Kill(1)
	wantRefusal(t, Options{Servers: c.Servers()[2:], Timeout: 8 * time.Second}, store.ErrUnavailable, "no quorum")
}

func TestOpenLooksAtWhatIsThere(t *testing.T) {
	t.Parallel()
	addrs, ctx := servers(t), deadline(t)
	c := raw(t, addrs)
	t.Run("must exist", func(t *testing.T) {
		o := Options{Servers: addrs, Path: freshPath(t), MustExist: true}
		wantRefusal(t, o, store.ErrNotFound, "no store", o.Path)
		wantRefusal(t, Options{Servers: addrs, Path: o.Path, ReadOnly: true}, store.ErrNotFound, "no store")
		if there, _, err := c.Exists(o.Path); there || err != nil {
			t.Errorf("opening made %s all the same: %v", o.Path, err)
		}
	})
	for data, part := range map[string]string{"rota 2\n": "newer rota", "something": "something else", "rota": "something else"} {
		o := Options{Servers: addrs, Path: "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")}
		if _, err := c.Create(o.Path, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, o, nil, part)
	}
	t.Run("an empty node is taken", func(t *testing.T) {
		o := Options{Servers: addrs, Path: "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")}
		if _, err := c.Create(o.Path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		if _, err := openWith(t, o).Append(ctx, []byte("x")); err != nil {
			t.Error(err)
		}
	})
	t.Run("opened by many at once", func(t *testing.T) {
		o := Options{Servers: addrs, Path: freshPath(t)}
		errs := make(chan error)
		for range 8 {
			go func() {
				s, err := Open(ctx, o)
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

func TestUserAlone(t *testing.T) {
	t.Parallel()
	o := Options{Servers: servers(t), Path: freshPath(t), User: "rota", Password: "correct-horse"}
	s, ctx := openWith(t, o), deadline(t)
	if _, err := s.Put(ctx, store.Doc{Key: "a/b"}); err != nil {
		t.Fatal(err)
	}
	session, err := s.OpenSession(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Put(ctx, store.Doc{Key: "a/c"}); err != nil {
		t.Errorf("put with the session of a user: %v", err)
	}
	if _, err := openWith(t, o).Get(ctx, "a/b"); err != nil {
		t.Errorf("the same user: %v", err)
	}
	wantRefusal(t, Options{Servers: o.Servers, Path: o.Path}, zk.ErrNoAuth, "refuses access")
	wantRefusal(t, Options{Servers: o.Servers, Path: o.Path, User: "rota", Password: "wrong-horse"}, zk.ErrNoAuth, "refuses access")
	s.link.reconnect() // credentials are given again with each connection
	if _, err := s.Get(ctx, "a/b"); err != nil {
		t.Errorf("after a new connection: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	o, ctx := Options{Servers: servers(t), Path: freshPath(t)}, deadline(t)
	w := openWith(t, o)
	index, err := w.Append(ctx, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
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
		if err := call(); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "reading only") {
			t.Errorf("%s on a store that was opened for reading only: %v", name, err)
		}
	}
}

// TestThroughTLS puts TLS in front of a server: the name is verified against the address that was given.
func TestThroughTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // for its certificate, which is for 127.0.0.1 and example.com
	t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	target := servers(t)[0]
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
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
	o := Options{Servers: []string{l.Addr().String()}, Path: freshPath(t), TLS: &tls.Config{RootCAs: roots}}
	s, err := Open(deadline(t), o)
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.OpenSession(deadline(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Put(deadline(t), store.Doc{Key: "a"}); err != nil {
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

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	addr := deaf(t, func(net.Conn) { cancel(why) })
	if _, err := Open(ctx, Options{Servers: []string{addr}, Timeout: time.Hour}); !errors.Is(err, why) {
		t.Errorf("open, cancelled on the way: %v, want %v", err, why)
	}
}
