//go:build !unix

package command

// outputGone is false here: there is no SIGPIPE.
func outputGone() bool { return false }
