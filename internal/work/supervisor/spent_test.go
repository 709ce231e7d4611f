package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// split ends a partition by its split.
func (l *log) split(key string, children ...string) {
	p, _ := l.value().Partition(cluster.NewPartitionID("j", "", key))
	c := cluster.SplitPartition{Partition: p.ID, Token: p.Token}
	for _, child := range children {
		c.Children = append(c.Children, cluster.Child{Key: child, Parents: []string{key}})
	}
	_, _ = l.propose(context.Background(), c, cluster.FinishPartition{Partition: p.ID, Token: p.Token})
}

// stream is partitions 1 to last, each split from the one before.
func (l *log) stream(last int) {
	l.split("list", "1")
	for i := 1; i < last; i++ {
		l.split(fmt.Sprint(i), fmt.Sprint(i+1))
	}
}

// A split removes what is spent and its position, the position first. While the store does not answer, both stay.
func TestASplitRemovesWhatIsSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, d := newLog(t), newDocs()
		const last = 1003
		l.stream(last)
		for _, key := range []string{"1", "2", "3"} {
			value := fmt.Appendf(nil, `{"partition":"j#%s","token":1,"position":"eA=="}`, key)
			must.Succeed(t, must.Err(d.Put(t.Context(), store.Doc{Key: "position/j=23" + key, Value: value})))
		}
		away := true
		d.onGet = func() error {
			if away {
				return store.ErrUnavailable
			}
			return nil
		}
		present := func(key string) (partition, position bool) {
			_, partition = l.value().Partition(cluster.NewPartitionID("j", "", key))
			_, position = d.byID["position/j=23"+key]
			return partition, position
		}
		var errs []error
		var kept []bool
		b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error {
			errs = append(errs, g.Split(ctx, []cluster.Child{{Key: "a", Parents: []string{fmt.Sprint(last)}}}))
			partition, position := present("1")
			kept, away = []bool{partition, position}, false
			errs = append(errs, g.Split(ctx, []cluster.Child{{Key: "b", Parents: []string{fmt.Sprint(last)}}}))
			return nil
		}), func(c *supervisor.Config) {
			c.Positions, c.Propose, c.Value, c.Changed = d, l.propose, l.value, l.wait
		})
		p, _ := l.value().Partition(cluster.NewPartitionID("j", "", fmt.Sprint(last)))
		b.give(time.Hour, grant(string(p.ID), p.Token, "x", `{}`))
		synctest.Wait()
		if errors.Join(errs...) != nil || len(kept) != 2 || !kept[0] || !kept[1] {
			t.Fatalf("%v; with the store away the partition and its position are there: %v", errs, kept)
		}
		for key, want := range map[string]bool{"1": false, "2": false, "3": true} { // a split of one child removes two: 1,002 have ended
			if partition, position := present(key); partition != want || position != want {
				t.Errorf("%s: partition %t, position %t, want %t", key, partition, position, want)
			}
		}
		must.Succeed(t, b.finish())
	})
}

// Partitions that split at the same time see the same spent ones. Together they remove more than they add, as one alone
// does: else a job with many streams would grow for ever.
func TestSplitsAtOnceRemoveDifferentOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const streams, last = 20, 1501 // 500 are spent, the list and 1,000 are kept
		l, keys := newLog(t), []string(nil)
		for i := range streams {
			keys = append(keys, fmt.Sprint("s", i))
		}
		l.stream(last)
		l.split(fmt.Sprint(last), keys...)
		together := make(chan struct{})
		var mu sync.Mutex
		came, gone := 0, map[string]bool{}
		b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error {
			return g.Split(ctx, []cluster.Child{{Key: g.Key + "+", Parents: []string{g.Key}}})
		}), func(c *supervisor.Config) {
			c.Positions, c.Value, c.Changed = newDocs(), l.value, l.wait
			c.Propose = func(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
				if split, ok := commands[0].(cluster.SplitPartition); ok {
					mu.Lock()
					for _, key := range split.Done {
						gone[key] = true
					}
					if came++; came == streams {
						close(together)
					}
					mu.Unlock()
					<-together
				}
				return l.propose(ctx, commands...)
			}
		})
		var grants []*protocol.Grant
		for p := range l.value().PartitionsOf("j") {
			if p.State == cluster.PartitionGranted {
				grants = append(grants, grant(string(p.ID), p.Token, "x", `{}`))
			}
		}
		b.give(time.Hour, grants...)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if came != streams || len(gone) <= streams {
			t.Errorf("%d splits, which add one each, name %d to remove", came, len(gone))
		}
	})
}
