package supervisor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
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

// enter grants partitions to a member over these documents, for two minutes of first rounds or as long
// as then says, and returns how many rounds each has had.
func (d *manyDocs) enter(t *testing.T, all []*protocol.Grant, then func(*bed)) (map[cluster.PartitionID]int, *bed) {
	t.Helper()
	rounds := make(map[cluster.PartitionID]int)
	b := newBed(t, typeOf(true, func(_ context.Context, g *work.Grant) error {
		d.locked(func() { rounds[g.Partition]++ })
		return nil
	}), func(c *supervisor.Config) { c.Positions = d })
	b.give(1000*time.Hour, all...)
	if then != nil {
		then(b)
	}
	time.Sleep(2 * time.Minute) // waits: in virtual time
	synctest.Wait()
	must.Succeed(t, b.finish())
	return rounds, b
}

const hourly = `{"every_ms":3600000}`

// TestManyRunsEnterTogether: when many partitions arrive at once, one request reads the last rounds of
// up to 64 of them. Each partition continues after the last round of its former owner. It does not run
// at all if its token is older than the one in its document.
func TestManyRunsEnterTogether(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const n = 1000
		d := &manyDocs{docs: newDocs()}
		first, _ := d.enter(t, grants(n, 1, hourly), nil)
		second, _ := d.enter(t, grants(n, 2, hourly), nil)
		for p := range first {
			if first[p]+second[p] != 1 {
				t.Errorf("%s: %d rounds in 4 minutes, of two owners", p, first[p]+second[p])
			}
		}
		if len(first)+len(second) != n || d.asked != 2*n || d.requests != 2*16 {
			t.Errorf("%d partitions had rounds; %d last rounds were read in %d requests", len(first)+len(second),
				d.asked, d.requests)
		}
		d.byID["position/p0000"] = store.Doc{Key: "position/p0000", Version: "x",
			Value: []byte(`{"partition":"p0000","token":9,"round_ms":1}`)}
		before := d.asked
		old, b := d.enter(t, grants(1, 1, hourly), func(*bed) { time.Sleep(2 * time.Hour) })
		if len(old) != 0 || len(b.records) != 0 || d.asked > before+2 {
			t.Errorf("under a token that is older than its document's a partition has %d rounds; %d reads, journal %+v",
				len(old), d.asked-before, b.records)
		}
	})
}

// What cannot be read holds up the runs that it belongs to, and no other ones: a damaged document, and
// a request that the store does not answer.
func TestRunsEnterBesideWhatCannotBeRead(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		d := &manyDocs{docs: newDocs()}
		d.byID["position/p0003"] = store.Doc{Key: "position/p0003", Version: "x", Value: []byte("{")}
		rounds, b := d.enter(t, grants(40, 1, hourly), nil)
		if len(rounds) != 39 || rounds["p0003"] != 0 {
			t.Errorf("%d of 39 runs had rounds", len(rounds))
		}
		if r := b.records; len(r) != 1 || !strings.Contains(r[0].Message, "position/p0003") {
			t.Errorf("journal: %+v", r)
		}
		all := grants(20, 1, hourly)
		rounds, _ = (&manyDocs{docs: newDocs(), hang: 1}).enter(t, all[:10], func(b *bed) {
			time.Sleep(time.Second) // waits: in virtual time
			b.give(1000*time.Hour, all...)
		})
		if len(rounds) != 10 || rounds["p0000"] != 0 {
			t.Errorf("%d runs had rounds, want the ten later ones: %v", len(rounds), rounds)
		}
		rounds, _ = (&manyDocs{docs: newDocs()}).enter(t, nil, func(b *bed) {
			for i := range all {
				b.give(1000*time.Hour, all[:i+1]...)
				time.Sleep(time.Second) // waits: in virtual time
			}
		})
		if len(rounds) != len(all) {
			t.Errorf("%d runs had rounds, of %d that came one after the other", len(rounds), len(all))
		}
		rounds, b = (&manyDocs{docs: newDocs(), hang: 1000}).enter(t, grants(5000, 1, hourly),
			func(*bed) { time.Sleep(time.Hour) })
		if len(rounds) != 0 || len(b.stopped) != 5000 {
			t.Errorf("with a store that never answers %d runs had rounds, and %d of 5,000 were stopped", len(rounds),
				len(b.stopped))
		}
	})
}
