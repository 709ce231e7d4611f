// Package virtual runs tests in virtual time.
//
// # Purpose
//
// A test that waits in real time is slow, and fails on a busy machine. [Test] has the time pass that a test waits for,
// and runs it beside others.
package virtual

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Test runs f in a bubble of virtual time (see testing/synctest), in parallel with other tests.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// Seeds runs f for so many seeds of chance, each as Test does.
func Seeds(t *testing.T, n uint64, f func(t *testing.T, seed uint64)) {
	t.Helper()
	for seed := range n {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { Test(t, func(t *testing.T) { f(t, seed) }) })
	}
}
