//go:build !unix

package api

// maxFiles is how many files this process may open; 0 if that is not known.
func maxFiles() uint64 { return 0 }
