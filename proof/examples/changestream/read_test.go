package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/rotatest"
)

// Two members read a stream to its end, whatever the order in which its partitions end. Each has room for one run.
func TestTwoMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out")
		o := options{job: "changes", tasks: 1, stream: config{Partitions: 8, Times: 60, Each: 10}, pause: time.Millisecond}
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

func TestUsage(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), []string{"-partitions", "1"}, nil); err == nil {
		t.Error("a stream of one partition cannot merge")
	}
}
