//go:build unix

package chaos

import (
	"fmt"
	"os"
	"syscall"
)

func inodeOf(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return fmt.Sprint(st.Ino), true
}
