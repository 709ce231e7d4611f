package postgres_test

import (
	"testing"

	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/storetest"
)

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, place.Empty) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, place.Empty) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, place.Empty) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, place.Empty) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, place.Empty) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, place.Empty) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, place.Empty) }
func TestLocks(t *testing.T)    { t.Parallel(); locktest.Run(t, place.Empty) }
func TestFaults(t *testing.T)   { t.Parallel(); storetest.Faults(t, place.Reach) }
func TestStories(t *testing.T)  { t.Parallel(); rig.Stories(t, place.Members) }
func TestStorm(t *testing.T)    { t.Parallel(); rig.Storms(t, place.Members) }
