package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stands tells whether every thread of a process is stopped. Where /proc is missing the signal is taken for the fact.
func stands(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return true
	}
	for _, t := range threads {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if !strings.HasPrefix(rest, "T") && !strings.HasPrefix(rest, "t") && !strings.HasPrefix(rest, "Z") {
			return false
		}
	}
	return true
}

// holdsTurn tells whether a process holds one of the locks that a writer of the store takes: then nobody else can write.
func holdsTurn(pid int, store string) bool {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	for _, name := range []string{"turn.lock", "queue.lock"} {
		inode, ok := inodeOf(filepath.Join(store, name))
		if !ok {
			continue
		}
		for line := range strings.Lines(string(locks)) {
			f := strings.Fields(line)
			if len(f) >= 6 && f[1] == "FLOCK" && f[4] == fmt.Sprint(pid) && strings.HasSuffix(f[5], ":"+inode) {
				return true
			}
		}
	}
	return false
}
