//go:build !linux

package faultproxy

import "syscall"

// abrupt does nothing here: a server that has accepted a connection while it was cut may see an orderly end.
func abrupt(_, _ string, _ syscall.RawConn) error { return nil }
