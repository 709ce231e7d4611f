// want: lacks the heading "# State"
// as: protocol/x/doc.go

// Package x says nothing.
package x
