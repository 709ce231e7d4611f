package doclog

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// member is one on a log of documents, which can be away from it.
func member(t *testing.T, docs storetest.Full, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
	t.Helper()
	f := storetest.NewFaulty(docs, nil)
	s, err := New(f, Options{PartBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	m, err := replica.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20})
	if err != nil {
		t.Fatal(err)
	}
	return protocoltest.Handle{
		Member: m,
		Crash:  func() { s.Close() },
		Away: func(away bool) {
			if away {
				f.SetPlan(func(storetest.Call) storetest.Outcome { return storetest.Refused })
				return
			}
			f.SetPlan(nil)
		},
	}
}

func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{TTL: 2 * time.Second, Many: 10, Open: func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		server := memory.New()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			return member(t, server.Open(), id, ttl)
		}
	}})
}

func TestStoriesOnFile(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{TTL: 2 * time.Second, Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		dir := t.TempDir()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			s, err := file.Open(deadline(t), dir, file.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return member(t, s, id, ttl)
		}
	}})
}
