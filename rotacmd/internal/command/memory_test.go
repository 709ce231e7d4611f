package command

import (
	"bytes"
	"io/fs"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

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
}
