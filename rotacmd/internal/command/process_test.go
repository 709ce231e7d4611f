package command

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/node/guardian"
	"github.com/rota-run/rota/store"
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

// mortal is a store whose sessions others can end.
type mortal struct {
	store.Full
	store.SessionEnder
}

// TestWhyThereIsNoGuardian: a member without one says why, in words that its heartbeat carries to rota member list and
// rota status.
func TestWhyThereIsNoGuardian(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		st         store.Full
		wanted, no bool
	}{
		"none: --guardian=false":                  {mortal{}, false, false},
		"none: no session to end (--no-sessions)": {mortal{}, true, true},
		notNeeded: {struct{ store.Full }{}, true, false},
	} {
		m := &config{guarded: c.wanted}
		m.node.NoSessions = c.no
		var undo []func()
		if got := m.guardian(c.st, guardian.Options{}, &undo).State(); got != want || len(undo) != 0 {
			t.Errorf("got %q with %d to undo, want %q", got, len(undo), want)
		}
	}
	if got := unguarded("none: \xff").State(); got != "none: ?" {
		t.Errorf("what is no UTF-8 comes as %q", got)
	}
}

func TestCgroupMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroups": {nil, 0},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000000\n"},
			1_000_000},
		"the group above is smaller": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max": "500\n", "sys/fs/cgroup/memory.max": "900\n",
		}, 500},
		"seen as the root": {map[string]string{"proc/self/cgroup": "0::/docker/1f\n",
			"sys/fs/cgroup/memory.max": "700\n"}, 700},
		"no limit": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"version 1": {map[string]string{
			"proc/self/cgroup": "9:cpu,cpuacct:/x\n8:memory:/y\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "2000\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1\n",
		}, 2000},
		"version 1 without": {map[string]string{
			"proc/self/cgroup": "8:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"both": {map[string]string{
			"proc/self/cgroup": "8:memory:/y\n0::/z\n", "sys/fs/cgroup/memory/y/memory.limit_in_bytes": "2000\n",
			"sys/fs/cgroup/z/memory.max": "1500\n",
		}, 1500},
		"nonsense": {map[string]string{"proc/self/cgroup": "x\n0::/../..\n1:2\n", "sys/fs/cgroup/memory.max": "-5\n"},
			0},
		"too long": {map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "99999999999999999999999999999999999999\n"}, 0},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupMemory(root); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestLimitMemory changes the limit of the process, so it is not parallel.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(math.MaxInt64)
	root := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/a\n")},
		"sys/fs/cgroup/a/memory.max": {Data: []byte("1000000000\n")}}
	// A member that goes no further than its arguments, and the limit that it has by then.
	run := func(variables map[string]string, root fs.FS) int64 {
		t.Helper()
		debug.SetMemoryLimit(math.MaxInt64)
		var out bytes.Buffer
		getenv := func(name string) string { return variables[name] }
		if execute(env{args: strings.Fields("run --store memory: --listen none --ttl 1ms"), stdin: &out, stdout: &out,
			stderr: &out, getenv: getenv, root: root}) != exitUsage {
			t.Fatalf("the member did more than look at its arguments: %s", &out)
		}
		return debug.SetMemoryLimit(-1)
	}
	if got := run(nil, root); got != 900_000_000 {
		t.Errorf("the limit is %d, want nine tenths of what the cgroup allows", got)
	}
	if got := run(map[string]string{"GOMEMLIMIT": "1GiB"}, root); got != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT is overruled by %d", got)
	}
	if got := run(nil, fstest.MapFS{}); got != math.MaxInt64 {
		t.Errorf("without a cgroup the limit is %d", got)
	}
}

func TestGarbageFor(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 100, 20 << 20: 100, 52 << 20: 100, 65 << 20: 80, 104 << 20: 50,
		160 << 20: 32, 10 << 30: 25, math.MaxUint64: 25} {
		if got := garbageFor(live); got != want {
			t.Errorf("%d live bytes: %d %%, want %d %%", live, got, want)
		}
	}
}

// TestLimitGarbage changes the collector of the process, so it is not parallel.
func TestLimitGarbage(t *testing.T) {
	before := debug.SetGCPercent(90)
	defer debug.SetGCPercent(before)
	now := func() int {
		share := debug.SetGCPercent(100)
		debug.SetGCPercent(share)
		return share
	}
	limitGarbage(func(string) string { return "30" })()
	if got := now(); got != 90 {
		t.Errorf("GOGC is overruled by %d", got)
	}
	if (env{getenv: func(string) string { return "30" }, root: fstest.MapFS{}}).lookOnce() || now() != 90 {
		t.Errorf("GOGC is overruled by %d where one looks once", now())
	}
	stop := limitGarbage(func(string) string { return "" })
	if got := now(); got != usualGarbage {
		t.Errorf("a small heap has %d %%", got)
	}
	ballast := make([]byte, 3*muchGarbage)
	for now() > usualGarbage/2 { // until a collection has set it
		runtime.GC()
	}
	runtime.KeepAlive(ballast)
	for now() <= usualGarbage/2 { // what is not live counts no more
		runtime.GC()
	}
	stop()
	if got := now(); got != 90 {
		t.Errorf("in the end it is %d", got)
	}
	if c := (&collector{before: 90, stopped: true}); c.adjust() || now() != 90 {
		t.Errorf("it is set after the end: %d", now())
	}
}
