package kafka_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/storetest"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, fresh); storetest.QueueJoins(t, fresh) }
func TestGroup(t *testing.T)    { t.Parallel(); storetest.Group(t, fresh) }

// drivers makes an empty store on the shared broker, as drivers.
func drivers(t *testing.T) func() kafka.Driver {
	o := kafka.Options{Brokers: servers(t), Name: freshName(t)}
	return func() kafka.Driver {
		d, err := kafka.OpenDriver(rig.Deadline(t), o)
		must.Succeed(t, err)
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
}

// TestDriver: the driver keeps the promises of package driver, over a real broker.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{Open: func(t *testing.T) func() drivertest.Documenter {
		open := drivers(t)
		return func() drivertest.Documenter { return open() }
	}})
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, drivertest.JournalSetup{Open: func(t *testing.T) func() drivertest.Orderer {
		open := drivers(t)
		return func() drivertest.Orderer { return open() }
	}})
}
