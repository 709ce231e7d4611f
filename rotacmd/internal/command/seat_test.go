package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
)

// TestAFullMachine: as many members run on a machine as may, the next one is refused with the number, and gets the seat
// of one that ends.
func TestAFullMachine(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	member := func(store string) *config {
		c := &config{store: store, most: 3}
		var err error
		c.node.Logger, err = logger(env{stderr: &output.Text{}}, "debug")
		must.Succeed(t, err)
		return c
	}
	var in []*config
	for range 3 {
		c := member("etcd://127.0.0.1:1/rota")
		if err := c.takeSeat(); err != nil || c.seat == nil {
			t.Fatalf("no seat: %v", err)
		}
		in = append(in, c)
	}
	late := member("nats://127.0.0.1:1/rota")
	err := late.takeSeat()
	var f *fault
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "3 members run here") || !errors.As(err, &f) ||
		!strings.Contains(f.try, "--most-members 6") {
		t.Fatalf("got %v, want a refusal with the number", err)
	}
	if _, stderr, code := here("", "run", "--store", "nope://x", "--most-members", "3"); code != exitUsage {
		t.Errorf("a store that cannot be: exit %d: %s", code, stderr)
	}
	for _, store := range []string{"file:x", "memory:"} { // they have seats of their own
		if c := member(store); c.takeSeat() != nil || c.seat != nil {
			t.Errorf("%s takes a seat of the machine", store)
		}
	}
	must.Succeed(t, in[1].seat.Close())
	if err := late.takeSeat(); err != nil || late.seat == nil {
		t.Errorf("a seat is free, and yet: %v", err)
	}
	in[1] = late
	defer func() {
		for _, c := range in { // what is garbage has no seat
			must.Succeed(t, c.seat.Close())
		}
	}()
	// The command asks before it opens the store, which is not there.
	stdout, stderr, code := here("", "run", "--store", "etcd://127.0.0.1:1/rota", "--listen", "none", "--most-members",
		"3")
	if code != exitFailed || stdout != "" ||
		!strings.Contains(stderr, "rota: this machine is full: 3 members run here") ||
		!strings.Contains(stderr, "try: ") {
		t.Errorf("exit %d, %q: %s", code, stdout, stderr)
	}
	t.Setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
	t.Setenv("HOME", "/dev/null/nowhere")
	if c := member("etcd://127.0.0.1:1/rota"); c.takeSeat() != nil || c.seat != nil {
		t.Error("a machine that keeps no seats has a limit")
	}
}
