// want: names is a map
// as: api/x.go

package api

// read-only:
var names = map[int]string{1: "one"}
