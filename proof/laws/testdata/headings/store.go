// want: lacks the heading "# Guarantees"
// as: store/x/doc.go

// Package x says nothing.
//
// # Purpose
//
// None.
package x
