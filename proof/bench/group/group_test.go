package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestMain lets the test program be a member too: the measurement starts its own program again.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-member") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestMeasure kills members of a real group of processes at a broker inside this one. Sessions are longer than a
// heartbeat, so no gap is shorter than what is left of one.
func TestMeasure(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	var out strings.Builder
	args := []string{"-brokers", strings.Join(c.ListenAddrs(), ","), "-members", "3", "-partitions", "10", "-kills",
		"2", "-session", "2s"}
	must.Succeed(t, run(t.Context(), args, &out, &out))
	if s := out.String(); strings.Count(s, "2 kills") != 2 || !strings.Contains(s, "two at once") {
		t.Errorf("it says %q", s)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	o := newOwners(3)
	o.take(line{Member: "a", At: 1, Assigned: []int32{0, 1}})
	o.take(line{Member: "b", At: 1, Assigned: []int32{2}})
	if !o.even([]string{"a", "b"}) || o.even([]string{"a", "b", "c"}) || o.even([]string{"a"}) {
		t.Errorf("shares of %v", o.of)
	}
	lost := o.had([]string{"a"})
	o.take(line{Member: "b", At: 7, Assigned: []int32{1}})
	if _, ok := o.last(lost, []string{"a"}); ok {
		t.Error("partition 0 is not elsewhere yet")
	}
	o.take(line{Member: "c", At: 9, Assigned: []int32{0}})
	o.take(line{Member: "a", At: 8, Unassigned: []int32{0}}) // said earlier, heard later
	if at, ok := o.last(lost, []string{"a"}); !ok || at != 9 {
		t.Errorf("the last is elsewhere at %v, %v; want 9", at, ok)
	}
	o.take(line{Member: "c", At: 10, Unassigned: []int32{0}})
	if o.even([]string{"b", "c"}) {
		t.Error("partition 0 is nobody's")
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "NOT MEASURED",
		"-brokers x -members 2":         "at least 3 members",
		"-brokers x -partitions 4":      "as many partitions",
		"-brokers x -kills 0":           "1 kill",
		"-brokers x -session 1ms":       "sessions of 100ms",
		"-brokers x -sessions 1s":       "not defined",
		"-brokers 127.0.0.1:1 -kills 1": "create topic",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := run(ctx, strings.Fields(text), os.Stdout, os.Stderr); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
