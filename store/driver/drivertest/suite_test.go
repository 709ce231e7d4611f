package drivertest_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/internal/store/driver/lossy"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// open opens handles of one new map. Indexes of its log have gaps.
func open(*testing.T) func() *lossy.Handle {
	m := drivermap.New()
	m.Gaps = true
	return func() *lossy.Handle { return lossy.Open(m) }
}

// opening is open for a suite that wants handles of another type.
func opening[D any](as func(*lossy.Handle) D) func(*testing.T) func() D {
	return func(t *testing.T) func() D {
		next := open(t)
		return func() D { return as(next()) }
	}
}

// through opens two handles, of which the second has a link.
func through[D any](as func(*lossy.Handle) D) func(*testing.T) (witness, through D, link drivertest.Link) {
	return func(t *testing.T) (witness, through D, link drivertest.Link) {
		next := open(t)
		h := next()
		return as(next()), as(h), h.Link
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	as := func(h *lossy.Handle) drivertest.Documenter { return h }
	drivertest.Documents(t, drivertest.Setup{Open: opening(as), Through: through(as)})
}

func TestOrdered(t *testing.T) {
	t.Parallel()
	as := func(h *lossy.Handle) drivertest.Orderer { return h }
	drivertest.Journals(t, drivertest.JournalSetup{Open: opening(as), Through: through(as),
		Deposed: func(t *testing.T) (drivertest.Orderer, func(bool)) {
			h := open(t)()
			return h, h.Depose
		}})
}

func TestSeeing(t *testing.T) {
	t.Parallel()
	as := func(h *lossy.Handle) drivertest.Seer { return h }
	drivertest.Vigils(t, drivertest.VigilSetup{Open: opening(as), Through: through(as)})
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/driver/drivertest")
}
