package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holdsTurn reports whether a process holds one of the locks that a writer of the store takes: then nobody else can write.
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
