package zookeeper_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/proof/faultproxy"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// TestSessionTimeoutsOfTheServer asks for sessions that are longer and shorter than those which the server grants.
func TestSessionTimeoutsOfTheServer(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{Tick: time.Second, MaxSession: 4 * time.Second})
	var warnings output.Text
	o, ctx := zookeeper.Options{Servers: c.Servers(), Logger: slog.New(slog.NewTextHandler(&warnings, nil))},
		rig.Deadline(t)
	s, link := openThrough(t, o)
	_, err := s.OpenSession(ctx, 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), "maxSessionTimeout") || !strings.Contains(err.Error(), "tickTime") {
		t.Errorf("a ttl longer than the server grants: %v, want an error that names maxSessionTimeout and tickTime",
			err)
	}
	rig.Eventually(t, "the refused session is closed", func() bool { return link.Stats().Open == 1 }) // the handle's own connection is left
	if text := warnings.String(); text != "" {
		t.Errorf("warned before a session was granted: %s", text)
	}
	rig.Session(t, s, 300*time.Millisecond) // the server makes 2 s of it
	if text := warnings.String(); !strings.Contains(text, "asked=300ms granted=2s") {
		t.Errorf("warned of %q, want that 2 s were granted where 300 ms were asked for", text)
	}
	for _, ttl := range []time.Duration{0, -1, 100 * 24 * time.Hour} {
		if _, err := s.OpenSession(ctx, ttl); err == nil || !strings.Contains(err.Error(), "ttl") {
			t.Errorf("ttl %v: %v", ttl, err)
		}
	}
}

// TestSessionsSurviveTheLeader kills the leader under sessions that write: none of their documents vanishes.
func TestSessionsSurviveTheLeader(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), rig.LongDeadline(t)
	witness := openWith(t, zookeeper.Options{Servers: c.Servers()})
	owned := rig.Session(t, openWith(t, zookeeper.Options{Servers: c.Servers()}), time.Minute) // longer than an election on a busy machine
	v := must.Get(owned.Put(ctx, store.Doc{Key: "a"}))(t)
	leader := must.Get(c.Leader(ctx))(t)
	c.Kill(leader)
	rig.Eventually(t, "the session writes under another leader", func() bool {
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := owned.Put(one, store.Doc{Key: "a", Version: v})
		if errors.Is(err, store.ErrSession) {
			t.Fatalf("the session has ended: %v", err)
		}
		if d, err := witness.Get(one, "a"); err == nil {
			v = d.Version
		} else if errors.Is(err, store.ErrNotFound) {
			t.Fatal("the document of a living session is gone")
		}
		return err == nil
	})
}

// newest returns the newest session that was granted to a client of a tap.
func newest(tap *tap) uint64 {
	granted := tap.granted()
	return granted[len(granted)-1]
}

// cutOff returns what a handle is reached through, and cuts it off until the servers have ended its session. They end
// sessions in the order of their last signs of life plus their timeouts: so a session that began later, has a longer
// timeout and is cut off too ends later.
func cutOff(t *testing.T, link *faultproxy.Proxy, session time.Duration) {
	t.Helper()
	link.Refuse()
	link.Stall()
	later := rig.Link(t, servers(t)[0])
	watched := nodes{raw(t, []string{later.Addr()}, 2*session), ""}
	node := "/" + strings.ReplaceAll(freshPath(t)[1:], "/", "_")
	watched.create(t, node, nil, zk.FlagEphemeral)
	later.Stall()
	witness := raw(t, servers(t), 10*time.Second)
	rig.Eventually(t, "the servers have ended the later session", func() bool {
		there, _, err := witness.Exists(node)
		return err == nil && !there
	})
}

// TestWatchesOutliveTheSession cuts a handle off for so long that the servers end its session, and with it ZooKeeper's
// watches.
func TestWatchesOutliveTheSession(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}
	direct := openWith(t, o)
	o.Session = time.Second // a pause of a busy machine may end it at any time, so this handle only watches
	through, link, tap := openTapped(t, o)
	ctx := rig.Deadline(t)
	docs := must.Get(through.Watch(ctx, "w/"))(t)
	log := must.Get(through.WatchLog(ctx))(t)
	v, err := direct.Put(ctx, store.Doc{Key: "w/a"})
	must.Succeed(t, err)
	before := newest(tap)
	cutOff(t, link, o.Session)
	rig.Drain(docs)
	rig.Drain(log)
	if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, must.Err(direct.Append(ctx, nil)))
	must.Succeed(t, link.Heal())
	rig.Hinted(t, docs)
	rig.Hinted(t, log)
	if after := newest(tap); after == before {
		t.Fatalf("the session %x is still the same: the test has shown nothing", after)
	}
	for range 2 {
		rig.Eventually(t, "the watch is quiet", func() bool {
			select {
			case <-docs:
				return false
			case <-log:
				return false
			default:
				return true
			}
		})
		if v, err = direct.Put(ctx, store.Doc{Key: "w/a", Version: v}); err != nil {
			t.Fatal(err)
		}
		rig.Hinted(t, docs)
		must.Succeed(t, must.Err(direct.Append(ctx, nil)))
		rig.Hinted(t, log)
	}
}
