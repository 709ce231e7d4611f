package node

import (
	"context"
	"testing"

	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store/memory"
)

// shut is a storage that never answers.
type shut struct{}

func (shut) Append(ctx context.Context, _ ...journal.Record) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestStorages: each storage gets each record, and one that does not answer delays neither the others nor the journal.
func TestStorages(t *testing.T) {
	virtual(t, func(t *testing.T) {
		kept, copied := journal.NewMemory(100), journal.NewMemory(100)
		n := start(t, memory.New(), "a", func(c *Config) { c.Journal, c.Storages = kept, []journal.Appender{shut{}, copied} })
		await(t, "both have the records", func() bool {
			a, err := kept.Read(t.Context(), journal.Query{})
			b, errB := copied.Read(t.Context(), journal.Query{})
			return err == nil && errB == nil && len(a) > 0 && len(a) == len(b) && a[0].Kind == journal.MemberJoined && b[0].Member == "a"
		})
		if n.Status().JournalDropped != 0 {
			t.Error("a record is counted as lost while a storage may still answer")
		}
		n.leave()
		if n.Status().JournalDropped == 0 {
			t.Error("what the storage did not take is not counted")
		}
	})
}
