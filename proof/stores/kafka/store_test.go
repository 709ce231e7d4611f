package kafka_test

import (
	"testing"

	"github.com/rota-run/rota/store/storetest"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, fresh); storetest.QueueJoins(t, fresh) }
func TestGroup(t *testing.T)    { t.Parallel(); storetest.Group(t, fresh) }

// TestOnFake runs the suites on a fake of a broker. Its group is no evidence: when a leader has left, it tells each member that this one leads.
func TestOnFake(t *testing.T) {
	t.Parallel()
	t.Run("docs", func(t *testing.T) { t.Parallel(); storetest.Docs(t, faked) })
	t.Run("log", func(t *testing.T) { t.Parallel(); storetest.Log(t, faked) })
	t.Run("seed", func(t *testing.T) { t.Parallel(); storetest.Seed(t, faked) })
	t.Run("watch", func(t *testing.T) { t.Parallel(); storetest.Watch(t, faked) })
	t.Run("log watch", func(t *testing.T) { t.Parallel(); storetest.LogWatch(t, faked) })
}
