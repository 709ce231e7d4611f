package work_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// manyDocs reads many documents in one request.
type manyDocs struct {
	*docs
	requests, asked int
	hang            int // so many requests are not answered
}

func (d *manyDocs) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	hangs := false
	d.locked(func() {
		d.requests, d.asked = d.requests+1, d.asked+len(keys)
		hangs = d.requests <= d.hang
	})
	if hangs {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	time.Sleep(time.Millisecond) // waits: in virtual time; all that come meanwhile share the next request
	return store.GetAll(ctx, d.docs, keys)
}

func grants(n int, token cluster.Token, definition string) (out []*protocol.Grant) {
	for i := range n {
		out = append(out, grant(fmt.Sprintf("p%04d", i), token, "x", definition))
	}
	return out
}

// TestManyRunsEnterTogether: when many partitions arrive at once, one request reads the last rounds of up to 64 of them. Each partition continues after the
// last round of its former owner. It does not run at all if its token is older than the one in its document.
func TestManyRunsEnterTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		d := &manyDocs{docs: newDocs()}
		rounds := make(map[cluster.PartitionID]int)
		typ := typeOf(true, func(_ context.Context, g *work.Grant) error {
			d.locked(func() { rounds[g.Partition]++ })
			return nil
		})
		for token := cluster.Token(1); token <= 2; token++ {
			b := newBed(t, typ, func(c *work.Config) { c.Positions = d })
			b.give(1000*time.Hour, grants(n, token, `{"every_ms":3600000}`)...)
			time.Sleep(2 * time.Minute) // waits: in virtual time, for the first rounds
			synctest.Wait()
			if err := b.finish(); err != nil {
				t.Fatal(err)
			}
		}
		for p, is := range rounds {
			if is != 1 {
				t.Errorf("%s: %d rounds in 4 minutes, of two owners", p, is)
			}
		}
		if len(rounds) != n || d.asked != 2*n || d.requests != 2*16 {
			t.Errorf("%d partitions had rounds; %d last rounds were read in %d requests", len(rounds), d.asked, d.requests)
		}
		d.byID["position/p0000"] = store.Doc{Key: "position/p0000", Version: "x", Value: []byte(`{"partition":"p0000","token":9,"round_ms":1}`)}
		old := newBed(t, typ, func(c *work.Config) { c.Positions = d })
		old.give(1000*time.Hour, grants(1, 1, `{"every_ms":3600000}`)...)
		time.Sleep(2 * time.Hour) // waits: in virtual time
		synctest.Wait()
		if err := old.finish(); err != nil {
			t.Fatal(err)
		}
		if rounds["p0000"] != 1 {
			t.Errorf("a partition has rounds under a token that is older than its document's")
		}
	})
}

// A document that cannot be read holds up the run that it belongs to, and no other one.
func TestARunEntersBesideADamagedDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &manyDocs{docs: newDocs()}
		d.byID["position/p0003"] = store.Doc{Key: "position/p0003", Version: "x", Value: []byte("{")}
		rounds := make(map[cluster.PartitionID]int)
		b := newBed(t, typeOf(true, func(_ context.Context, g *work.Grant) error {
			d.locked(func() { rounds[g.Partition]++ })
			return nil
		}), func(c *work.Config) { c.Positions = d })
		b.give(1000*time.Hour, grants(40, 1, `{"every_ms":3600000}`)...)
		time.Sleep(2 * time.Minute) // waits: in virtual time
		synctest.Wait()
		if err := b.finish(); err != nil {
			t.Fatal(err)
		}
		if len(rounds) != 39 || rounds["p0003"] != 0 {
			t.Errorf("%d of 39 runs had rounds", len(rounds))
		}
		if r := b.records; len(r) != 1 || !strings.Contains(r[0].Message, "position/p0003") {
			t.Errorf("journal: %+v", r)
		}
	})
}

// A request that the store does not answer holds up the runs that it is for, and no later ones.
func TestRunsEnterBesideARequestThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &manyDocs{docs: newDocs(), hang: 1}
		rounds := make(map[cluster.PartitionID]int)
		b := newBed(t, typeOf(true, func(_ context.Context, g *work.Grant) error {
			d.locked(func() { rounds[g.Partition]++ })
			return nil
		}), func(c *work.Config) { c.Positions = d })
		all := grants(20, 1, `{"every_ms":3600000}`)
		b.give(1000*time.Hour, all[:10]...)
		time.Sleep(time.Second) // waits: in virtual time
		b.give(1000*time.Hour, all...)
		time.Sleep(2 * time.Minute) // waits: in virtual time
		synctest.Wait()
		if err := b.finish(); err != nil {
			t.Fatal(err)
		}
		if len(rounds) != 10 || rounds["p0000"] != 0 {
			t.Errorf("%d runs had rounds, want the ten later ones: %v", len(rounds), rounds)
		}
	})
}

// A member leaves though the store never answers, and begins no round.
func TestAMemberLeavesAHangingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &manyDocs{docs: newDocs(), hang: 1000}
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error {
			t.Error("a round begins before the last one is known")
			return nil
		}), func(c *work.Config) { c.Positions = d })
		b.give(1000*time.Hour, grants(5000, 1, `{"every_ms":3600000}`)...)
		time.Sleep(time.Hour) // waits: in virtual time
		synctest.Wait()
		if err := b.finish(); err != nil {
			t.Fatal(err)
		}
		if len(b.stopped) != 5000 {
			t.Errorf("%d of 5,000 runs were stopped", len(b.stopped))
		}
	})
}
