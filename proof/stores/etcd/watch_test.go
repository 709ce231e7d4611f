package etcd_test

import (
	"context"
	. "github.com/rota-run/rota/store/etcd"
	"testing"

	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store"
)

// TestWatchOutlivesItsConnection writes while a watch is cut off, and lets the server forget how it came to that.
func TestWatchOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	for name, compact := range map[string]bool{"kept": false, "compacted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			if compact { // others on the shared server need what it remembers
				member, err := server.StartCluster(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(member.Stop)
				o.Endpoints = member.Endpoints()
			}
			p, s, direct := throughProxyTo(t, o)
			ctx := deadline(t)
			docs, err := s.Watch(ctx, "w/")
			if err != nil {
				t.Fatal(err)
			}
			log, err := s.WatchLog(ctx)
			if err != nil {
				t.Fatal(err)
			}
			<-docs
			<-log
			for range 3 {
				p.Cut()
				if _, err := direct.Put(ctx, store.Doc{Key: "w/" + name, Version: versionOf(t, direct, "w/"+name)}); err != nil {
					t.Fatal(err)
				}
				if _, err := direct.Append(ctx, record); err != nil {
					t.Fatal(err)
				}
				if compact {
					now, err := direct.now(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := direct.client.Compact(ctx, now); err != nil {
						t.Fatal(err)
					}
				}
				heal(t, p)
				wantHint(t, ctx, docs)
				wantHint(t, ctx, log)
			}
		})
	}
}

func versionOf(t *testing.T, s *Store, key string) store.Version {
	t.Helper()
	docs, err := s.List(deadline(t), "w/")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if d.Key == key {
			return d.Version
		}
	}
	return ""
}

func wantHint(t *testing.T, ctx context.Context, hints <-chan struct{}) {
	t.Helper()
	select {
	case _, open := <-hints:
		if !open {
			t.Fatal("the watch has ended")
		}
	case <-ctx.Done():
		t.Fatal("no hint")
	}
}
