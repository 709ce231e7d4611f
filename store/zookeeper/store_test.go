package zookeeper

import (
	"testing"

	"github.com/rota-run/rota/store/storetest"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }

// quorate makes stores whose reads wait for a quorum.
func quorate(t *testing.T) func(t *testing.T) *Store {
	o := Options{Servers: servers(t), Path: freshPath(t), QuorumReads: true}
	return func(t *testing.T) *Store { return openWith(t, o) }
}

func TestDocsByQuorum(t *testing.T) { t.Parallel(); storetest.Docs(t, quorate) }
func TestLogByQuorum(t *testing.T)  { t.Parallel(); storetest.Log(t, quorate) }
