package supervisor_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// stream is a change stream, and how far each of its partitions was read. What is true of it is known here alone.
type stream struct {
	*log
	t     *testing.T
	host  *worktest.Host
	next  map[string]int // the first change that is not done, by the key of a partition that has begun
	lazy  bool           // positions are saved late, or not at all, and finished partitions are removed
	mark  work.Watermark
	old   []cluster.Value
	names int
}

func (s *stream) id(key string) cluster.PartitionID { return cluster.NewPartitionID("j", "", key) }

// granted are the partitions that can be read, in order.
func (s *stream) granted() (keys []string) {
	for p := range s.value().PartitionsOf("j") {
		if p.State == cluster.PartitionGranted {
			_, _, key := p.ID.Split()
			keys = append(keys, key)
		}
	}
	return keys
}

// start is where a partition begins, as far as it is known.
func (s *stream) start(p cluster.Partition) int {
	_, _, key := p.ID.Split()
	if at, ok := s.next[key]; ok {
		return at
	}
	at := 1 << 30
	for _, key := range p.Parents {
		parent, _ := s.value().Partition(s.id(key)) // if it is there no more, it has begun
		parent.ID = s.id(key)
		at = min(at, s.start(parent))
	}
	return at
}

func (s *stream) save(t *rapid.T, key string) {
	if !s.lazy || rapid.Bool().Draw(t, "save") {
		s.host.SetPosition(s.id(key), 1, fmt.Appendf(nil, "%08d", s.next[key]))
	}
}

func (s *stream) read(t *rapid.T) {
	key := rapid.SampledFrom(s.granted()).Draw(t, "reads")
	p, _ := s.value().Partition(s.id(key))
	s.next[key] = s.start(p) + rapid.IntRange(0, 3).Draw(t, "changes")
	s.save(t, key)
}

// split ends some partitions, which have the same successors: two of one, or one of two.
func (s *stream) split(t *rapid.T) {
	keys := s.granted()
	parents := []string{rapid.SampledFrom(keys).Draw(t, "ends")}
	if other := rapid.SampledFrom(keys).Draw(t, "other"); other != parents[0] {
		parents = append(parents, other)
		slices.Sort(parents)
	}
	var children []cluster.Child
	for range 3 - len(parents) {
		s.names++
		children = append(children, cluster.Child{Key: fmt.Sprintf("p%04d", s.names), Parents: parents})
	}
	for _, key := range parents {
		p, _ := s.value().Partition(s.id(key))
		s.next[key] = s.start(p)
		s.save(t, key)
		c := cluster.SplitPartition{Partition: p.ID, Token: p.Token, Children: children}
		if s.lazy {
			c.Done = s.forget()
		}
		_, _ = s.propose(s.t.Context(), c)
		if len(parents) > 1 && rapid.Bool().Draw(t, "the other goes on") {
			break
		}
		_, _ = s.propose(s.t.Context(), cluster.FinishPartition{Partition: p.ID, Token: p.Token})
	}
}

// forget deletes the positions of what may be removed: all that is finished and has begun with a split.
func (s *stream) forget() (keys []string) {
	for p := range s.value().Spent(s.id(""), 0) {
		_, _, key := p.ID.Split()
		s.host.SetPosition(p.ID, 1, nil)
		keys = append(keys, key)
	}
	return keys
}

// look advances the watermark by a value that may be old, and compares it with the truth.
func (s *stream) look(t *rapid.T) {
	v := s.value()
	s.old = append(s.old, v)
	back := 0
	if s.lazy {
		back = rapid.IntRange(0, min(3, len(s.old)-1)).Draw(t, "old")
	}
	before := s.mark.Low
	g := worktest.NewGrantOf(s.t, s.host, "j#list", 1, work.Definition{})
	must.Succeed(t, s.mark.Advance(s.t.Context(), g, s.old[len(s.old)-1-back]))
	truth := 1 << 30
	for p := range v.PartitionsOf("j") {
		if p.State != cluster.PartitionFinished {
			truth = min(truth, s.start(p))
		}
	}
	want, low := fmt.Sprintf("%08d", truth), string(s.mark.Low)
	switch {
	case bytes.Compare(s.mark.Low, before) < 0:
		t.Fatalf("it went back from %s to %s", before, low)
	case low > want || !s.lazy && low != want:
		t.Fatalf("it is %q, and what is unfinished begins at %s", low, want)
	}
}

// The watermark never passes what is unfinished and never goes back, while partitions split and merge, save late or not
// at all, and are removed. Where all save at once, it is exact.
func TestWatermark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &stream{
			log: newLog(t), t: t, host: worktest.NewHost(), mark: work.Watermark{Compare: bytes.Compare},
			next: map[string]int{"list": 0}, lazy: rapid.Bool().Draw(rt, "lazy"),
		}
		s.save(rt, "list")
		rt.Repeat(map[string]func(*rapid.T){"read": s.read, "split": s.split, "": s.look})
	})
}

// The supervisor's host reads the positions, and what cannot be read leaves the watermark where it was.
func TestWatermarkOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, d := newLog(t), newDocs()
		child := cluster.Child{Key: "new", Parents: []string{"list"}}
		split := cluster.SplitPartition{Partition: lists, Token: 1, Children: []cluster.Child{child}}
		_, _ = l.propose(t.Context(), split)
		w, low := work.Watermark{Compare: bytes.Compare}, []string{}
		run := func(ctx context.Context, g *work.Grant) error {
			for _, at := range []string{"5", "3", "7"} {
				err := g.SavePosition(ctx, []byte(at))
				if err == nil {
					err = w.Advance(ctx, g, l.value())
				}
				if err != nil {
					return err
				}
				low = append(low, string(w.Low))
			}
			all, err := g.Host.(work.Positions).LoadPositions(ctx, []cluster.PartitionID{"none", g.Partition})
			low = append(low, fmt.Sprintf("%s %v", all, err))
			d.onGet = func() error { return store.ErrUnavailable }
			low = append(low, fmt.Sprint(w.Advance(ctx, g, l.value()) != nil))
			return nil
		}
		b := newBed(t, typeOf(false, run), func(c *supervisor.Config) { c.Positions = d })
		b.give(time.Hour, grant(string(lists), 1, "x", `{}`))
		synctest.Wait()
		if want := []string{"5", "5", "7", "[ 7] <nil>", "true"}; !slices.Equal(low, want) {
			t.Errorf("the watermark was %q, want %q", low, want)
		}
		must.Succeed(t, b.finish())
	})
}
