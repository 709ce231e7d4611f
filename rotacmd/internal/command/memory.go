package command

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// limitMemory lets the garbage collector work harder before the kernel would end the process: it sets a soft limit of
// nine tenths of what the cgroups of the process allow. GOMEMLIMIT, which the runtime reads itself, has precedence. It
// returns the limit, 0 where it set none.
func limitMemory(getenv func(string) string, root fs.FS) int64 {
	if getenv("GOMEMLIMIT") != "" {
		return 0
	}
	most := cgroupMemory(root)
	if most == 0 {
		return 0
	}
	limit := most / 10 * 9
	debug.SetMemoryLimit(limit)
	return limit
}

// The share of the live memory, in percent, that may be garbage before the next collection: that of the runtime while
// it is little, less where a member has many tasks. A large member does not take twice what it needs, and a small one
// does not collect more often.
const (
	usualGarbage = 100
	leastGarbage = 25
	muchGarbage  = 52 << 20 // bytes from which on the share is less
)

// garbageFor is the share for so many bytes that are live.
func garbageFor(live uint64) int {
	if live <= muchGarbage {
		return usualGarbage
	}
	return max(int(usualGarbage*muchGarbage/live), leastGarbage) //nolint:gosec // less than a hundred
}

// limitGarbage sets the share after each collection, until stop is called, which restores what was set. GOGC, which the
// runtime reads itself, has precedence.
func limitGarbage(getenv func(string) string) (stop func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	c := &collector{set: usualGarbage, before: debug.SetGCPercent(usualGarbage)}
	runtime.SetFinalizer(&cycle{c}, (*cycle).over)
	return c.stop
}

// collector is what the shares of one run of the command are set by.
type collector struct {
	mu          sync.Mutex
	set, before int
	stopped     bool
}

// cycle is garbage, so that the runtime says when a collection is over.
type cycle struct{ of *collector }

func (c *cycle) over() {
	if c.of.adjust() {
		runtime.SetFinalizer(c, (*cycle).over)
	}
}

func (c *collector) adjust() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 { // this runtime does not say it
		return false
	}
	if share := garbageFor(live[0].Value.Uint64()); share != c.set {
		c.set = share
		debug.SetGCPercent(share)
	}
	return true
}

func (c *collector) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	debug.SetGCPercent(c.before)
}

// machine is the file system of this machine.
func (e env) machine() fs.FS {
	if e.root == nil {
		return os.DirFS("/")
	}
	return e.root
}

// cgroupMemory is the least memory limit of the cgroups that the process is in, as bytes; 0 where there is none. It
// reads both versions of cgroups, below / of the file system; elsewhere than on Linux there are none.
func cgroupMemory(root fs.FS) int64 {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			least = min(least, leastIn(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			least = min(least, leastIn(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	if least >= 1<<60 { // version 1 says "no limit" by a number near the largest
		return 0
	}
	return least
}

// leastIn is the least limit of a cgroup and those above it. In a container without a name space of its own, the group
// may only be seen as the root.
func leastIn(root fs.FS, mount, group, file string) int64 {
	least := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		least = min(least, readLimit(root, path.Join(mount, at, file)))
		if at == "/" {
			return least
		}
	}
}

// readLimit is the number in a file; "max", what is no number and what is not there are no limit.
func readLimit(root fs.FS, name string) int64 {
	f, err := root.Open(name)
	if err != nil {
		return math.MaxInt64
	}
	defer func() { _ = f.Close() }() // it was only read
	text := make([]byte, 32)
	n, err := f.Read(text)
	if n == 0 && err != nil {
		return math.MaxInt64
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 64)
	if err != nil || limit <= 0 {
		return math.MaxInt64
	}
	return limit
}

// The targets of the garbage collector. A process that reads the value once, shows something and ends has none below
// 400 MB; one that looks again has the other target from then on.
const (
	looksOnce  = 10_000
	looksAgain = 400
)

// leastForBigHeap is the memory limit from which on large pages are worth what they may waste.
const leastForBigHeap = 1 << 30

// lookOnce settles the memory of a process that reads the value, shows something and ends. GOGC, with which it returns
// false, and the limit of the cgroup have precedence.
func (e env) lookOnce() bool {
	limit := limitMemory(e.getenv, e.machine())
	if e.getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(looksOnce)
	if limit == 0 || limit >= leastForBigHeap {
		bigHeap()
	}
	return true
}
