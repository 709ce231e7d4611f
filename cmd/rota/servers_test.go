package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/server/etcd"
	"github.com/rota-run/rota/internal/server/nats"
	"github.com/rota-run/rota/internal/server/zookeeper"
)

// servers are what the stores on servers are tried on. Each starts one that ends with the test, and returns its URL.
var servers = map[string]func(ctx context.Context, t *testing.T) (url string, err error){
	"etcd": func(ctx context.Context, t *testing.T) (string, error) {
		s, err := etcd.Start(ctx, etcd.Options{Dir: t.TempDir()})
		if err != nil {
			return "", err
		}
		t.Cleanup(s.Stop)
		return s.URL(), nil
	},
	"nats": func(ctx context.Context, t *testing.T) (string, error) {
		s, err := nats.Start(ctx, nats.Options{Dir: t.TempDir()})
		if err != nil {
			return "", err
		}
		t.Cleanup(s.Stop)
		return s.URL(), nil
	},
	"zookeeper": func(ctx context.Context, t *testing.T) (string, error) {
		s, err := zookeeper.Start(ctx, zookeeper.Options{Dir: t.TempDir()})
		var missing *zookeeper.MissingError
		if errors.As(err, &missing) {
			t.Skipf("NOT TESTED: ZooKeeper: %v; or set %s to the address of a server", missing, zookeeper.Variable)
		}
		if err != nil {
			return "", err
		}
		t.Cleanup(s.Stop)
		return "zookeeper://" + strings.Join(s.Servers(), ","), nil
	},
}

func onServers(t *testing.T, test func(p *place, url string)) {
	t.Parallel()
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			url, err := start(ctx, t)
			if err != nil {
				t.Fatal(err)
			}
			test(p, url)
		})
	}
}

func TestDemoOnServers(t *testing.T) {
	onServers(t, func(p *place, url string) { p.demo("--store", url+"/weather") })
}

func TestStoreCheckOnServers(t *testing.T) {
	onServers(t, func(p *place, url string) {
		for range 2 { // the second finds what the first has left
			out, errs, code := p.rota("store", "check", url+"/weather")
			if code != exitOK || !strings.Contains(out, "ok  append") || !strings.Contains(out, "ok  session") {
				p.t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		}
		_, errs, code := p.rota("status", "--store", url+"/weather")
		if code != exitFailed || !strings.Contains(errs, "try: rota run --store "+url+"/weather ./tasks") {
			p.t.Errorf("exit %d\n%s", code, errs)
		}
	})
}

// Where there is none, or where something else answers, the error says so, and nothing waits for long.
func TestServersThatCannotBeUsed(t *testing.T) {
	onServers(t, func(p *place, url string) {
		scheme, rest, _ := strings.Cut(url, "://")
		for other := range servers {
			if other == scheme {
				continue
			}
			_, errs, code := p.rota("status", "--store", other+"://"+rest+"/x?timeout=3s")
			if code != exitFailed || !strings.Contains(errs, "rota: ") {
				p.t.Errorf("a client of %s at %s: exit %d\n%s", other, scheme, code, errs)
			}
			p.t.Logf("a client of %s at %s: %s", other, scheme, errs)
		}
		_, errs, code := p.rota("status", "--store", scheme+"://127.0.0.1:1/x?timeout=1s")
		if code != exitFailed || !strings.Contains(errs, "127.0.0.1:1") {
			p.t.Errorf("nobody there: exit %d\n%s", code, errs)
		}
	})
}
