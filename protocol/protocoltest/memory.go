package protocoltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// OnMemory makes members of a protocol in virtual time, on stores whose calls can be made to fail.
func OnMemory(p protocol.Protocol, noSessions bool) Setup {
	return Setup{Virtual: true, TTL: 2 * time.Second,
		Open: func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) Handle {
			return membersOn(memory.New(), p, noSessions)
		}}
}

func membersOn(server *memory.Server, p protocol.Protocol, noSessions bool) func(*testing.T, cluster.MemberID,
	time.Duration) Handle {
	clock := protocol.NewProcessClock()
	return func(t *testing.T, id cluster.MemberID, ttl time.Duration) Handle {
		t.Helper()
		f := faults.NewFaultyGroup(server.Open(), nil)
		m, err := p.New(protocol.Config{Member: id, Store: f, TTL: ttl, NoSessions: noSessions, SnapshotEvery: 20,
			Clock: clock, Events: logged(t, id)})
		if err != nil {
			t.Fatal(err)
		}
		return Handle{Member: m, Clock: clock, Crash: func() { _ = f.Close() }, Away: f.Away, Break: f.Break}
	}
}

// submitFirst submits a job at a place where no member has ever joined. It is one of that protocol then. Under one that
// needs members to decide, the answer comes when there are some.
func submitFirst(w *world, s protocol.Store, p protocol.Protocol) {
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := protocol.ClientAt(context.Background(), p, s)
		if err != nil {
			w.t.Error(err)
			return
		}
		res, err := c.Propose(context.Background(),
			cluster.SubmitJob{Job: "first", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
		if err != nil || !res[0].Accepted {
			w.t.Errorf("submit: %+v, %v", res, err)
		}
	})
	time.Sleep(w.setup.TTL) // waits: virtual, for the client to have written what it can
	var other *protocol.OtherProtocolError
	err := protocol.Claim(context.Background(), s, protocol.Place{Protocol: "not " + p.Name()})
	if !errors.As(err, &other) {
		w.t.Errorf("a member of another protocol: %v, want that it is refused", err)
	}
	w.start("a")
	w.shares(map[cluster.MemberID]int{"a": 1})
	wg.Wait()
}

// logged logs changes of the membership, for the reader of a failed story.
func logged(t *testing.T, id cluster.MemberID) protocol.Events {
	return protocol.Events{
		Removed: func(reason string) { t.Logf("%s: %s", id, reason) },
		Did: func(_ cluster.Value, deeds []protocol.Deed) {
			for _, d := range deeds {
				switch d.Command.(type) {
				case cluster.PrepareJoin, cluster.AbortJoin, cluster.ConfirmMember, cluster.LeaveCluster, cluster.Lead,
					cluster.RevokeOffer, cluster.Epoch:
					t.Logf("%s did %v %v", id, d.Command, d.Result)
				}
			}
		},
	}
}

// StoriesOnMemory runs all stories on memory, that of many members too.
func StoriesOnMemory(t *testing.T, p protocol.Protocol) {
	s := OnMemory(p, false)
	s.Many = 30
	Run(t, s)
	t.Run("a job is submitted before any member joins", func(t *testing.T) {
		t.Parallel()
		server := memory.New()
		s.Open = func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) Handle {
			return membersOn(server, p, false)
		}
		s.play(t, func(w *world) { submitFirst(w, server.Open(), p) })
	})
}

// BusyStores are stores, with sessions and without, that cannot take as many heartbeats as the usual TTL asks for.
func BusyStores(t *testing.T, p protocol.Protocol) {
	for _, noSessions := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoSessions=%t", noSessions), func(t *testing.T) {
			t.Parallel()
			Load{Beats: 3, Times: 2, Returns: true, NoSessions: noSessions}.Busy(t, p)
		})
	}
}

// RefusedOnMemory is the story of a member that wants what everybody refuses, for a protocol with a log.
func RefusedOnMemory(t *testing.T, p protocol.Protocol) {
	OnMemory(p, false).play(t, refused)
}

// StormsOnMemory plays storms of eight seeds. With alternate, every second one is on a store without sessions.
func StormsOnMemory(t *testing.T, p protocol.Protocol, alternate bool) {
	for seed := range uint64(8) {
		s := OnMemory(p, alternate && seed%2 == 1)
		s.Seed = seed + 1
		t.Run(fmt.Sprintf("seed %d", s.Seed), func(t *testing.T) {
			t.Parallel()
			Storm(t, s)
		})
	}
}
