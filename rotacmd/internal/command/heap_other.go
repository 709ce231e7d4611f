//go:build !linux

package command

// bigHeap does nothing: these systems choose the size of pages themselves.
func bigHeap() {}
