package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
