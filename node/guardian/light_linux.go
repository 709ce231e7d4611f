package guardian

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lighten gives memory back that a guardian does not need while it waits. The program has read much of its own file while it started: those pages are dropped,
// and are read again, from the cache of the system, where they are needed.
func lighten() {
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var m mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m = m.next(lines.Text())
		if m.clean() {
			drop(m.from, m.to)
		}
	}
}

// mapping is a part of the memory, as far as its lines have been read.
type mapping struct {
	from, to uintptr
	rights   string
	file     bool
	unshared bool // "Anonymous" was read, and it is 0: none of its pages differs from the file
}

func (m mapping) next(line string) mapping {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return m
	}
	if !strings.HasSuffix(fields[0], ":") {
		from, to, _ := strings.Cut(fields[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || len(fields) < 6 {
			return mapping{}
		}
		return mapping{from: uintptr(a), to: uintptr(b), rights: fields[1], file: strings.HasPrefix(fields[5], "/")}
	}
	m.unshared = fields[0] == "Anonymous:" && len(fields) > 1 && fields[1] == "0"
	return m
}

// clean tells whether the pages of a mapping can be read again from its file.
func (m mapping) clean() bool {
	return m.file && m.unshared && strings.HasPrefix(m.rights, "r") && !strings.Contains(m.rights, "w")
}

func drop(from, to uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // what it refuses stays
}
