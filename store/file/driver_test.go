package file

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// openDriver opens the driver below a store.
func openDriver(t *testing.T, dir string) *rows {
	t.Helper()
	d := must.Get(open(deadline(t), dir, Options{}.withDefaults()))(t)
	t.Cleanup(func() { _ = d.close() })
	return &rows{d}
}

// TestDriver: the driver keeps the promises of package driver. No request of a directory is lost on its way.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{Open: func(t *testing.T) func() drivertest.Documenter {
		dir := place(t)
		return func() drivertest.Documenter { return openDriver(t, dir) }
	}})
}

// TestJournal: so does its log.
func TestJournal(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, drivertest.JournalSetup{Open: func(t *testing.T) func() drivertest.Orderer {
		dir := place(t)
		return func() drivertest.Orderer { return openDriver(t, dir) }
	}})
}

// TestVigil: so do its sessions.
func TestVigil(t *testing.T) {
	t.Parallel()
	drivertest.Vigils(t, drivertest.VigilSetup{Open: func(t *testing.T) func() drivertest.Seer {
		dir := place(t)
		return func() drivertest.Seer { return openDriver(t, dir) }
	}})
}
