package process

import (
	"bytes"
	"sync"
)

// Output is what a process has written so far. Its methods may be called from any goroutine.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
