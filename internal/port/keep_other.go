//go:build !linux

package port

// Keep does nothing here.
func Keep(string) (release func(), err error) { return func() {}, nil }
