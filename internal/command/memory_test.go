package command

import (
	"math"
	"runtime/debug"
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
		"version 2":  {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000000\n"}, 1_000_000},
		"the group above is smaller": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "500\n", "sys/fs/cgroup/memory.max": "900\n",
		}, 500},
		"seen as the root": {map[string]string{"proc/self/cgroup": "0::/docker/1f\n", "sys/fs/cgroup/memory.max": "700\n"}, 700},
		"no limit":         {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"version 1": {map[string]string{
			"proc/self/cgroup": "9:cpu,cpuacct:/x\n8:memory:/y\n", "sys/fs/cgroup/memory/y/memory.limit_in_bytes": "2000\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1\n",
		}, 2000},
		"version 1 without": {map[string]string{
			"proc/self/cgroup": "8:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0},
		"both": {map[string]string{
			"proc/self/cgroup": "8:memory:/y\n0::/z\n", "sys/fs/cgroup/memory/y/memory.limit_in_bytes": "2000\n", "sys/fs/cgroup/z/memory.max": "1500\n",
		}, 1500},
		"nonsense": {map[string]string{"proc/self/cgroup": "x\n0::/../..\n1:2\n", "sys/fs/cgroup/memory.max": "-5\n"}, 0},
		"too long": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999999999999999999999999999\n"}, 0},
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
	if got := limitMemory(func(string) string { return "1GiB" }); got != 0 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT is overruled by %d", got)
	}
	switch got := limitMemory(func(string) string { return "" }); {
	case got == 0 && debug.SetMemoryLimit(-1) != math.MaxInt64:
		t.Error("a limit is set that is not returned")
	case got != 0 && debug.SetMemoryLimit(-1) != got:
		t.Errorf("the limit is %d, want %d", debug.SetMemoryLimit(-1), got)
	}
}
