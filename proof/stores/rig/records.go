package rig

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// Records are all of a log, which must not be trimmed.
func Records(t testing.TB, s store.Log) (all []store.Record) {
	t.Helper()
	for after := uint64(0); ; {
		page := must.Get(s.Read(Deadline(t), after, 1000))(t)
		if all = append(all, page.Records...); len(all) > 0 {
			after = all[len(all)-1].Index
		}
		if after == page.Head {
			return all
		}
		if len(page.Records) == 0 {
			t.Fatalf("there is nothing behind %d, and the log ends at %d", after, page.Head)
		}
	}
}
