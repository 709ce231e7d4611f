package zookeeper_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// attempt has enough time for each server, on a busy machine too: 3 s of it.
const attempt = 8 * time.Second

// TestOpenErrors opens stores at addresses where no ZooKeeper server answers.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	rig.Refusals(t, zookeeper.Open, map[string]rig.Refusal[zookeeper.Options]{
		"nobody listens": rig.Says(zookeeper.Options{Servers: []string{rig.Nobody(t)}, Timeout: attempt},
			store.ErrUnavailable, "refused", "whether the servers run"),
		"no such name": rig.Says(zookeeper.Options{Servers: []string{"no-such-host.invalid:2181"},
			Timeout: attempt}, store.ErrUnavailable, "no-such-host.invalid", "look at the addresses"),
		"HTTP": rig.Says(zookeeper.Options{Servers: []string{address(web)}, Timeout: attempt},
			store.ErrUnavailable, "not ZooKeeper", "an HTTP server", "look at the port"),
		"silent": rig.Says(zookeeper.Options{Servers: []string{rig.Silent(t)}, Timeout: attempt},
			store.ErrUnavailable, "does not answer"),
		"hangs up": rig.Says(zookeeper.Options{Servers: []string{rig.Greets(t,
			func(c net.Conn) { c.Close() })}, Timeout: attempt}, store.ErrUnavailable, "handshake"),
		"garbage": rig.Says(zookeeper.Options{Servers: []string{rig.Greets(t,
			func(c net.Conn) { c.Write([]byte("\xff\xff\xff\xffgarbage")) })}, Timeout: attempt}, store.ErrUnavailable,
			"not ZooKeeper"),
		"TLS, unknown authority": rig.Says(zookeeper.Options{Servers: []string{address(secure)}, TLS: &tls.Config{},
			Timeout: attempt}, store.ErrUnavailable, "certificate", "authority"),
		"TLS on a plain port": rig.Says(zookeeper.Options{Servers: []string{address(web)}, TLS: &tls.Config{},
			Timeout: attempt}, store.ErrUnavailable, "does not speak TLS", "secureClientPort"),
		"TLS on a plain port of ZooKeeper": rig.Says(zookeeper.Options{Servers: servers(t), TLS: &tls.Config{},
			Timeout: attempt}, store.ErrUnavailable, "does not speak TLS", "secureClientPort"),
	})
}

// TestOpenWithoutQuorum opens a store at the only one of three servers that is left.
func TestOpenWithoutQuorum(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Nodes: 3})
	c.Kill(0)
	c.Kill(1)
	rig.Refused(t, zookeeper.Open, zookeeper.Options{Servers: c.Servers()[2:], Timeout: attempt},
		store.ErrUnavailable, "no quorum")
}

// TestOpenLooksAtWhatIsThere opens paths that hold nothing, something else, or are being made by others.
func TestOpenLooksAtWhatIsThere(t *testing.T) {
	t.Parallel()
	addrs, ctx := servers(t), rig.Deadline(t)
	c := nodesOf(t, zookeeper.Options{Servers: addrs})
	t.Run("must exist", func(t *testing.T) {
		o := zookeeper.Options{Servers: addrs, Path: freshPath(t), MustExist: true}
		rig.Refused(t, zookeeper.Open, o, store.ErrNotFound, "no store", o.Path)
		rig.Refused(t, zookeeper.Open, zookeeper.Options{Servers: addrs, Path: o.Path, ReadOnly: true},
			store.ErrNotFound, "no store")
		if there, _, err := c.Exists(o.Path); there || err != nil {
			t.Errorf("Open created %s: %v", o.Path, err)
		}
	})
	for data, part := range map[string]string{"rota 3\n": "newer version", "rota 1\n": "submit the jobs again",
		"something": "something else", "rota": "something else"} {
		o := zookeeper.Options{Servers: addrs, Path: "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")}
		c.create(t, o.Path, []byte(data), zk.FlagPersistent)
		rig.Refused(t, zookeeper.Open, o, nil, part)
	}
	t.Run("an empty node is taken", func(t *testing.T) {
		o := zookeeper.Options{Servers: addrs, Path: "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")}
		c.create(t, o.Path, nil, zk.FlagPersistent)
		if _, err := openWith(t, o).Append(ctx, []byte("x")); err != nil {
			t.Error(err)
		}
	})
	t.Run("opened by many at once", func(t *testing.T) {
		rig.Together(t, zookeeper.Open, zookeeper.Options{Servers: addrs, Path: freshPath(t)})
	})
}

// TestUserAlone opens a store with a user, which refuses everybody else.
func TestUserAlone(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), User: "rota", Password: rig.Secret}
	s, link, tap := openTapped(t, o)
	ctx := rig.Deadline(t)
	must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: "a/b"})))
	session := must.Get(s.OpenSession(ctx, time.Minute))(t)
	if _, err := session.Put(ctx, store.Doc{Key: "a/c"}); err != nil {
		t.Errorf("put with the session of a user: %v", err)
	}
	if _, err := openWith(t, o).Get(ctx, "a/b"); err != nil {
		t.Errorf("the same user: %v", err)
	}
	rig.Refused(t, zookeeper.Open, zookeeper.Options{Servers: o.Servers, Path: o.Path}, zk.ErrNoAuth, "refuses access")
	rig.Refused(t, zookeeper.Open, zookeeper.Options{Servers: o.Servers, Path: o.Path, User: "rota",
		Password: rig.Secret + "!"}, zk.ErrNoAuth, "refuses access")
	connections := len(tap.granted())
	link.Reset() // credentials are sent again on each connection
	rig.Eventually(t, "the handle is connected again", func() bool { return len(tap.granted()) > connections })
	if _, err := s.Get(ctx, "a/b"); err != nil {
		t.Errorf("after a new connection: %v", err)
	}
}

// TestThroughTLS connects through TLS in front of a server. The certificate is verified for the given address.
func TestThroughTLS(t *testing.T) {
	t.Parallel()
	cert, key, client := rig.Certificate(t)
	pair := must.Get(tls.X509KeyPair([]byte(cert), []byte(key)))(t)
	front := rig.TLSFront(t, servers(t)[0], &tls.Config{Certificates: []tls.Certificate{pair}})
	o := zookeeper.Options{Servers: []string{front}, Path: freshPath(t), TLS: client}
	s := must.Get(zookeeper.Open(rig.Deadline(t), o))(t)
	session := must.Get(s.OpenSession(rig.Deadline(t), time.Minute))(t)
	if _, err := session.Put(rig.Deadline(t), store.Doc{Key: "a"}); err != nil {
		t.Error(err)
	}
	s.Close()
	o.TLS, o.Timeout = &tls.Config{RootCAs: client.RootCAs, ServerName: "zk.example.org"}, attempt
	rig.Refused(t, zookeeper.Open, o, store.ErrUnavailable, "zk.example.org", "certificate")
}

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	rig.Cancelled(t, zookeeper.Open, zookeeper.Options{Servers: []string{rig.Silent(t)}, Timeout: time.Hour})
}

// TestWhatSomebodyElseWrote: a node that somebody made or changed with the servers' shell is a document with that text.
// It can be changed and deleted like any other, and does not keep the others of its folder from being read.
func TestWhatSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	for _, key := range []string{"a/1", "a/2"} {
		must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: key, Value: []byte("ours")})))
	}
	former := must.Get(s.Get(ctx, "a/1"))(t)
	must.Succeed(t, must.Err(below.Set(below.below("rows/+d+a/1"), []byte("theirs"), -1)))
	below.create(t, below.below("rows/+d+a/3"), []byte("theirs too"), 0)
	docs, err := s.List(ctx, "a/")
	if err != nil || len(docs) != 3 || string(docs[0].Value) != "theirs" || string(docs[1].Value) != "ours" ||
		string(docs[2].Value) != "theirs too" {
		t.Fatalf("listed %q, %v", docs, err)
	}
	if _, err := s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("late"), Version: former.Version}); !errors.Is(err,
		store.ErrConflict) {
		t.Errorf("put over a version that is gone: %v", err)
	}
	v := must.Get(s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("ours again"), Version: docs[0].Version}))(t)
	if _, err := s.Put(ctx, store.Doc{Key: "a/1", Value: []byte("twice"), Version: docs[0].Version}); !errors.Is(err,
		store.ErrConflict) {
		t.Errorf("put over it once more: %v", err)
	}
	if d, err := s.Get(ctx, "a/1"); err != nil || d.Version != v || string(d.Value) != "ours again" {
		t.Errorf("got %q, %v", d, err)
	}
	if err := s.Delete(ctx, "a/1", v); err != nil {
		t.Error(err)
	}
	if err := s.Delete(ctx, "a/3", docs[2].Version); err != nil {
		t.Error(err)
	}
	if docs, err := s.List(ctx, "a/"); err != nil || len(docs) != 1 {
		t.Errorf("left are %q, %v", docs, err)
	}
}

// TestFoldersGoWithTheirDocuments creates a document again after the servers have removed its empty folder.
func TestFoldersGoWithTheirDocuments(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	v := must.Get(s.Put(ctx, store.Doc{Key: "a/b/c"}))(t)
	must.Succeed(t, s.Delete(ctx, "a/b/c", v))
	below.remove(t, below.below(rowsNode+"/+d+a+b")) // as the servers do some time later
	if _, err := s.Put(ctx, store.Doc{Key: "a/b/c"}); err != nil {
		t.Errorf("put where the folder has gone: %v", err)
	}
}
