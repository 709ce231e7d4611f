// Package output keeps what processes and members say.
//
// # Purpose
//
// A test reads what is still being written: the output of a process, or the log of a member.
package output

import (
	"bytes"
	"sync"
	"testing"
)

// Text is what was written so far. Its methods may be called from any goroutine.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// New returns a text that is shown in the end if the test has failed.
func New(tb testing.TB) *Text {
	t := &Text{}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(t)
		}
	})
	return t
}

// Write appends.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// String is all that was written.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
