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
