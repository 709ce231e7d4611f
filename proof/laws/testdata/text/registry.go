// want: is of one machine
// as: docs/x.md

// Set GOPROXY=https://pro|xy.golang.org first.
package x
