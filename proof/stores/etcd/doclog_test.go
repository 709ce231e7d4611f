package etcd_test

import (
	"testing"

	"github.com/rota-run/rota/store/doclog"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// ofDocuments is a store whose log is made of etcd's documents, instead of etcd's own.
func ofDocuments(t *testing.T, s *etcd.Store) storetest.Full {
	t.Helper()
	l, err := doclog.New(s, doclog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l.(storetest.Full)
}

// TestLogOfDocuments runs the suites of a log on one made of documents, on a real server, also over links that break.
func TestLogOfDocuments(t *testing.T) {
	t.Parallel()
	t.Run("log", func(t *testing.T) {
		t.Parallel()
		storetest.Log(t, func(t *testing.T) func(t *testing.T) storetest.Full {
			open := fresh(t)
			return func(t *testing.T) storetest.Full { return ofDocuments(t, open(t)) }
		})
	})
	t.Run("faults", func(t *testing.T) {
		t.Parallel()
		storetest.LogFaults(t, func(*testing.T) storetest.Reach[storetest.Full] {
			r := reach(options())
			return storetest.Reach[storetest.Full]{
				Direct: func(t *testing.T) storetest.Full { return ofDocuments(t, r.Direct(t)) },
				Through: func(t *testing.T) (storetest.Full, storetest.Link) {
					s, link := r.Through(t)
					return ofDocuments(t, s), link
				},
			}
		})
	})
}
