//go:build !unix

package main

// outputGone is false here: there is no SIGPIPE.
func outputGone() bool { return false }
