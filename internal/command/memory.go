package command

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory lets the garbage collector work harder before the kernel would end the process: it sets a soft limit of nine tenths of what
// the cgroups of the process allow. GOMEMLIMIT, which the runtime reads itself, has precedence. It returns the limit, 0 where it set none.
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

// machine is the file system of this machine.
func (e env) machine() fs.FS {
	if e.root == nil {
		return os.DirFS("/")
	}
	return e.root
}

// cgroupMemory is the least memory limit of the cgroups that the process is in, as bytes; 0 where there is none. It reads both versions of
// cgroups, below / of the file system; elsewhere than on Linux there are none.
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
		case hasWord(parts[1], "memory"):
			least = min(least, leastIn(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	if least >= 1<<60 { // version 1 says "no limit" by a number near the largest
		return 0
	}
	return least
}

func hasWord(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// leastIn is the least limit of a cgroup and those above it. In a container without a name space of its own, the group may only be seen as the root.
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
