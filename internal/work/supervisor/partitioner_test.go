package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// log is a cluster of the member m1 with one partitioned task, whose commands are applied at once.
type log struct {
	mu      sync.Mutex
	v       cluster.Value
	changed chan struct{}
}

const lists cluster.PartitionID = "j#list"

func newLog(t *testing.T) *log {
	t.Helper()
	l := &log{changed: make(chan struct{})}
	task := cluster.TaskSpec{Type: "x", Spread: cluster.SpreadPartitioned, Partitions: []string{"list"}}
	_, _ = l.propose(t.Context(), cluster.PrepareJoin{Member: "m1", Heartbeat: "p"},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{task}}})
	return l
}

func (l *log) propose(_ context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, done := l.v.Apply(cluster.Entry{Index: l.v.Index() + 1, Writer: "w", Seq: l.v.Wrote("w") + 1,
		Commands: commands})
	l.v = v
	close(l.changed)
	l.changed = make(chan struct{})
	return done.Results, nil
}

func (l *log) value() cluster.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.v
}

func (l *log) wait() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// finish finishes all items.
func (l *log) finish(t *testing.T) {
	t.Helper()
	for it := range l.value().Window(lists) {
		if it.State == cluster.PartitionGranted {
			_, _ = l.propose(t.Context(), cluster.FinishPartition{Partition: it.ID, Token: it.Token})
		}
	}
	synctest.Wait()
}

func (l *log) items() (out []string) {
	for it := range l.value().Window(lists) {
		_, _, key := it.ID.Split()
		out = append(out, key+" "+it.State.String())
	}
	return out
}

// bedOf runs a partitioner on a supervisor that is granted what the cluster says.
func (l *log) bedOf(t *testing.T, p work.Partitioner, change func(*supervisor.Config)) *bed {
	t.Helper()
	b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error { return p.Run(ctx, g) }),
		func(c *supervisor.Config) {
			c.Value, c.Changed, c.Propose = l.value, l.wait, l.propose
			if change != nil {
				change(c)
			}
		})
	b.give(time.Hour, l.grant())
	return b
}

func (l *log) grant() *protocol.Grant {
	p, _ := l.value().Partition(lists)
	return grant(string(lists), p.Token, "x", `{"retry":{"min_ms":1000,"max_ms":1000}}`)
}

// count lists "0" to "n-1".
func count(n int) func(context.Context, *work.Grant, []byte, int) (work.Page, error) {
	return func(_ context.Context, _ *work.Grant, cursor []byte, limit int) (work.Page, error) {
		from, _ := strconv.Atoi(string(cursor))
		to := min(n, from+limit)
		p := work.Page{Cursor: []byte(strconv.Itoa(to)), End: to == n}
		for i := from; i < to; i++ {
			p.Items = append(p.Items, cluster.Item{Key: strconv.Itoa(i)})
		}
		return p, nil
	}
}

func TestAPartitionerKeepsItsWindow(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := newLog(t)
		b := l.bedOf(t, work.Partitioner{Window: 4, List: count(6)}, nil)
		for _, want := range []string{
			"[0 granted 1 granted 2 granted 3 granted]",
			"[4 granted 5 granted]",
			"[]",
		} {
			if got := fmt.Sprint(l.items()); got != want {
				t.Errorf("got the items %s, want %s", got, want)
			}
			l.finish(t)
		}
		if got := b.runState(string(lists)); got != "finished" {
			t.Errorf("the partitioner is %s", got)
		}
	})
}

// A listing that gives nothing is asked again after Poll, and not for what others write into the log; it writes nothing
// into the log itself.
func TestAListingThatGivesNothingIsAskedAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := newLog(t)
		var asked atomic.Int64
		l.bedOf(t, work.Partitioner{Poll: time.Minute, List: func(ctx context.Context, g *work.Grant, cursor []byte,
			limit int) (work.Page, error) {
			if asked.Add(1) < 4 {
				return work.Page{Cursor: cursor}, nil
			}
			return count(1)(ctx, g, cursor, limit)
		}}, nil)
		for i := range 100 {
			_, _ = l.propose(t.Context(), cluster.PrepareJoin{Member: cluster.MemberID(fmt.Sprint("n", i)),
				Heartbeat: "p"})
			synctest.Wait()
		}
		steps := l.value().Applied()
		for minute, want := range []int64{1, 2, 3} {
			if asked.Load() != want || l.value().Applied() != steps {
				t.Errorf("after %d minutes: asked %d times and wrote %d entries", minute, asked.Load(),
					l.value().Applied()-steps)
			}
			time.Sleep(time.Minute + time.Millisecond)
			synctest.Wait()
		}
		if got := fmt.Sprint(l.items()); got != "[0 granted]" {
			t.Errorf("got the items %s", got)
		}
	})
}

// A partitioner that comes back to what it has listed is told what waits or runs, and not what is finished.
func TestAWindowTellsWhatItHas(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := newLog(t)
		var windows []string
		l.bedOf(t, work.Partitioner{Window: 8, Poll: time.Minute,
			List: func(ctx context.Context, g *work.Grant, cursor []byte, limit int) (work.Page, error) {
				w, _, err := g.Host.(work.Windows).Window(g)
				windows = append(windows, fmt.Sprint(w.Has("0"), w.Has("1"), w.Has("list"), w.Has("")))
				if err != nil || cursor != nil {
					return work.Page{Cursor: cursor}, err
				}
				p, err := count(1)(ctx, g, cursor, limit)
				p.End = false
				return p, err
			}}, nil)
		l.finish(t) // fewer than are taken out together
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(windows); got != "[false false false false true false false false false false false false]" {
			t.Errorf("got %s", got)
		}
		if got := fmt.Sprint(l.items()); got != "[0 finished]" {
			t.Errorf("got the items %s", got)
		}
	})
}

// What an item has saved goes with it, unless a newer run of its key saved it. A store that does not answer costs a run
// of the partitioner, and no item.
func TestPositionsGoWithTheirItems(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l, d := newLog(t), newDocs()
		faults := []error{store.ErrUnavailable, store.ErrConflict}
		d.onDelete = func(string) error {
			if len(faults) == 0 {
				return nil
			}
			err := faults[0]
			faults = faults[1:]
			return err
		}
		for key, token := range map[string]int{"0": 2, "1": 2, "2": 99} { // the items are granted under 2
			value := fmt.Appendf(nil, `{"partition":"j#%s","token":%d,"position":"eA=="}`, key, token)
			must.Succeed(t, must.Err(d.Put(t.Context(), store.Doc{Key: "position/j=23" + key, Value: value})))
		}
		b := l.bedOf(t, work.Partitioner{Window: 4, List: count(4)}, func(c *supervisor.Config) { c.Positions = d })
		l.finish(t)
		if len(b.stopped) != 1 || !strings.Contains(b.stopped[0].Message, "forget the position of j#0") {
			t.Errorf("got %+v, want a failure to forget", b.stopped)
		}
		p, _ := l.value().Partition(lists)
		again := grant(string(lists), p.Token, "x", `{"retry":{"min_ms":1000,"max_ms":1000}}`)
		again.Attempt = 1
		b.give(time.Hour, again)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := l.items(); got != nil || b.runState(string(lists)) != "finished" {
			t.Errorf("the partitioner is %s, %q are left", b.runState(string(lists)), got)
		}
		var left []string
		for key := range d.byID {
			left = append(left, key)
		}
		slices.Sort(left)
		if fmt.Sprint(left) != "[position/j=230 position/j=232]" { // the first met a conflict: somebody has written since
			t.Errorf("these positions are left: %q", left)
		}
	})
}

// TestAStepForgetsWhatItTakesOut: the positions of other items that are done stay until these are taken out too.
func TestAStepForgetsWhatItTakesOut(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l, d := newLog(t), newDocs()
		for _, key := range []string{"0", "1"} {
			value := fmt.Appendf(nil, `{"partition":"j#%s","token":2,"position":"eA=="}`, key)
			must.Succeed(t, must.Err(d.Put(t.Context(), store.Doc{Key: "position/j=23" + key, Value: value})))
		}
		b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error {
			w := work.Window{Done: []cluster.Partition{{ID: "j#0", Token: 2}, {ID: "j#1", Token: 2}}}
			_, err := g.Host.(work.Windows).Advance(ctx, g, w, cluster.AdvanceWindow{Partition: lists, Done: []string{"0"}})
			return err
		}), func(c *supervisor.Config) { c.Value, c.Changed, c.Propose, c.Positions = l.value, l.wait, l.propose, d })
		b.give(time.Hour, l.grant())
		synctest.Wait()
		if _, there := d.byID["position/j=230"]; there || len(d.byID) != 1 {
			t.Errorf("%d positions are left, of the item that was taken out: %t", len(d.byID), there)
		}
	})
}

func TestAPartitionerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, list := range map[string]func(context.Context, *work.Grant, []byte, int) (work.Page, error){
		"list j#list (token 1): no such bucket": func(context.Context, *work.Grant, []byte, int) (work.Page, error) {
			return work.Page{}, errors.New("no such bucket")
		},
		"at most 8 were asked for": func(ctx context.Context, g *work.Grant, cursor []byte, limit int) (work.Page,
			error) {
			return count(limit+1)(ctx, g, cursor, limit+1)
		},
		"step 0 was refused: the key list is that of another partition": func(context.Context, *work.Grant, []byte,
			int) (work.Page, error) {
			return work.Page{Items: []cluster.Item{{Key: "list"}}}, nil
		},
		"step 0 was refused: items: [1].key: duplicate \"a\"": func(context.Context, *work.Grant, []byte,
			int) (work.Page, error) {
			return work.Page{Items: []cluster.Item{{Key: "a"}, {Key: "a"}}}, nil
		},
		"does not show the value": nil, // its host has no windows
	} {
		synctest.Test(t, func(t *testing.T) {
			l, p := newLog(t), work.Partitioner{Window: 8, List: list}
			if list == nil {
				p.List = count(1)
			}
			b := l.bedOf(t, p, func(c *supervisor.Config) {
				if list == nil {
					c.Value, c.Changed, c.Propose = nil, nil, nil
				}
			})
			if len(b.stopped) != 1 || b.stopped[0].Outcome != supervisor.Failed ||
				!strings.Contains(b.stopped[0].Message, want) {
				t.Errorf("got %+v, want %q", b.stopped, want)
			}
			if got := l.items(); got != nil {
				t.Errorf("%q were added", got)
			}
		})
	}
}

// Who is on the way out, or not there yet, lists nothing.
func TestAPartitionerThatIsNotTheOwnerWaits(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l := newLog(t)
		b := newBed(t, typeOf(false,
			work.Partitioner{List: func(context.Context, *work.Grant, []byte, int) (work.Page, error) {
				t.Error("it lists")
				return work.Page{End: true}, nil
			}}.Run), func(c *supervisor.Config) { c.Value, c.Changed, c.Propose = l.value, l.wait, l.propose })
		other := l.grant()
		other.Token += 5
		b.give(time.Hour, other)
		time.Sleep(time.Hour / 2)
		synctest.Wait()
		if b.runState(string(lists)) != "running" {
			t.Errorf("it is %s", b.runState(string(lists)))
		}
	})
}
