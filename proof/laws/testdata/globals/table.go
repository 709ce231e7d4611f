// want: nothing
// as: api/x.go

package api

// read-only: names of the states
var names = map[int]string{1: "one"}
