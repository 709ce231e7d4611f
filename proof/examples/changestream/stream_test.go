package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/rotatest"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// Each change is in one partition, which has its key at its time, and what a partition continues ends before it begins.
func TestStream(t *testing.T) {
	t.Parallel()
	c := config{Partitions: 64, Times: 1000, Each: 20}
	s := newStream(c)
	seen, splits, merges := map[int]bool{}, 0, 0
	for _, p := range s.all {
		for _, ch := range p.changes {
			if seen[ch.at] || ch.key < p.low || ch.key >= p.high {
				t.Errorf("%s has %+v", p.name, ch)
			}
			seen[ch.at] = true
		}
		for _, child := range p.children {
			if !slices.Contains(child.parents, p.name) || !slices.IsSorted(child.parents) {
				t.Errorf("%s does not continue %s, but %q", child.name, p.name, child.parents)
			}
			if len(p.changes) > 0 && len(child.changes) > 0 && child.changes[0].at < p.changes[len(p.changes)-1].at {
				t.Errorf("%s begins before the end of %s", child.name, p.name)
			}
		}
		if len(p.children) == 2 {
			splits++
		}
		if len(p.parents) == 2 {
			merges++
		}
	}
	if len(seen) != c.Times*c.Each || splits != 500 || merges != 500 || len(s.all) != 64+2*500+500 {
		t.Errorf("%d changes, %d splits, %d merges, %d partitions", len(seen), splits, merges, len(s.all))
	}
	if again := newStream(c); again.all[700].changes[0] != s.all[700].changes[0] {
		t.Error("the same config makes another stream")
	}
}

// A position is that of the last change before: reading goes on behind it.
func TestReadFromPosition(t *testing.T) {
	t.Parallel()
	for _, p := range newStream(config{Partitions: 4, Times: 9, Each: 30}).all {
		var got []change
		after, more := 0, true
		for more {
			var some []change
			if some, more = p.read(after, 3); len(some) > 0 {
				after = some[len(some)-1].at
			}
			got = append(got, some...)
		}
		if !slices.Equal(got, p.changes) {
			t.Errorf("%s: %v, not %v", p.name, got, p.changes)
		}
	}
}

// Two members read a stream to its end, whatever the order in which its partitions end. Each has room for one run.
func TestTwoMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out")
		o := options{job: "changes", tasks: 1, stream: config{Partitions: 8, Times: 60, Each: 10},
			pause: time.Millisecond}
		c := rotatest.New(t)
		clock := c.Clock()
		over := make(chan error, 2)
		for _, name := range []string{"a", "b"} {
			out, err := openSink(path)
			must.Succeed(t, err)
			defer out.file.Close()
			go func() { over <- read(t.Context(), o, out, rota.Config{Member: name, Store: c.Store(), Clock: clock}) }()
		}
		for range 2 {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
		in, err := os.Open(path)
		must.Succeed(t, err)
		defer in.Close()
		r, err := verify(newStream(o.stream), in)
		if err != nil || r.Changes != 600 || r.Partitions != 8+2*30+30 {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// unsaved is a host whose store takes no position.
type unsaved struct{ *worktest.Host }

var errAway = errors.New("the store is away")

func (unsaved) SavePosition(context.Context, *rota.Grant, []byte) error { return errAway }

// TestRunsAgainUnderItsToken: a run that could not save its position is started again under the same token and
// continues after the last change that it wrote. Under a newer token a run starts at the saved position.
func TestRunsAgainUnderItsToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	out, err := openSink(path)
	must.Succeed(t, err)
	defer out.file.Close()
	joined := make(chan struct{})
	close(joined)
	r := &reader{out: out, joined: joined, value: func() rota.Value { return rota.Value{} }}
	c := config{Partitions: 2, Times: 1, Each: 100}
	p := newStream(c).all[0]
	all := len(p.changes)
	lines := func() (n int) {
		text, err := os.ReadFile(path)
		must.Succeed(t, err)
		return strings.Count(string(text), over+"\n")
	}
	h := worktest.NewHost()
	for i, want := range []struct {
		token rota.Token
		away  bool
		lines int
	}{{1, true, batch}, {1, true, 2 * batch}, {2, true, 3 * batch}, {2, false, 2*batch + all}} {
		g := worktest.NewGrantOf(t, h, cluster.NewPartitionID("j", "t", p.name), want.token, work.Definition{})
		var failure error
		if want.away {
			g.Host, failure = unsaved{h}, errAway
		}
		if err := r.run(t.Context(), g, c); !errors.Is(err, failure) || lines() != want.lines {
			t.Errorf("run %d: %v, %d lines, want %d", i, err, lines(), want.lines)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), []string{"-partitions", "1"}, nil); err == nil {
		t.Error("a stream of one partition cannot merge")
	}
}
