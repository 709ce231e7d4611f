package rotatest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/rotatest"
)

// TestFlow: a flow runs in a cluster of a test, and is complete though its members are suspended and crash.
func TestFlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type none = struct{}
		in := rota.NewInput("in", rota.Input[none, int]{Read: func(_ context.Context, _ *rota.Grant, _ none, at []byte,
			out *rota.Sender[int]) ([]byte, bool, error) {
			time.Sleep(time.Second)
			return append(at, 'x'), len(at) == 99, out.Send(len(at))
		}})
		var sums sync.Map // by batch: one that is written again counts once
		write := rota.NewOutput("write",
			rota.Output[none, int]{Write: func(ctx context.Context, _ *rota.Grant, _ none, in []int) error {
				sum := 0
				for _, n := range in {
					sum += n
				}
				sums.Store(rota.BatchName(ctx), sum)
				return nil
			}})
		c := rotatest.New(t)
		members := make([]*rotatest.Member, 3)
		for i := range members {
			members[i] = c.Join(rota.Config{Slots: 1, Types: []rota.Type{in, write}})
		}
		if _, err := members[2].SubmitFile(t.Context(), "sum.yaml",
			[]byte("tasks: [{name: in, type: in}, {name: write, type: write, from: in}]")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		members[0].Suspend()
		time.Sleep(20 * time.Second)
		members[1].Crash()
		members[0].Resume()
		if err := members[2].Wait(t.Context(), "sum"); err != nil {
			t.Fatal(err)
		}
		total := 0
		sums.Range(func(_, n any) bool { total += n.(int); return true })
		if total != 4950 {
			t.Errorf("the sum is %d, want 4950", total)
		}
	})
}

// TestFiles: task files of a program are read in virtual time; directories are refused, since it would stand still.
func TestFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := rotatest.New(t)
		ran := make(chan struct{}, 1)
		typ := rota.NewType("once", func(context.Context, *rota.Grant, struct{}) error {
			ran <- struct{}{}
			return nil
		})
		c.Join(rota.Config{Types: []rota.Type{typ},
			Files: map[string]fs.FS{"tasks": fstest.MapFS{"a.yaml": {Data: []byte("type: once")}}}})
		<-ran
		time.Sleep(time.Hour)
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fatal{TB: t}
		func() {
			defer func() { recover() }()
			rotatest.New(f).Join(rota.Config{Sources: map[string][]string{"tasks": {"testdata"}}})
		}()
		if !strings.Contains(f.said, "try: Files") {
			t.Errorf("it says %q", f.said)
		}
	})
}

// fatal notes what a test would end with.
type fatal struct {
	testing.TB
	said string
}

func (f *fatal) Fatal(args ...any) {
	f.said = fmt.Sprint(args...)
	panic(errors.New(f.said))
}
