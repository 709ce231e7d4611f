package child

import (
	"bytes"
	"sync"
)

// mostSaid is how many bytes of a server's output are kept.
const mostSaid = 64 << 10

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-mostSaid):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
