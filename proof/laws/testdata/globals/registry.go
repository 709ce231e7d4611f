// want: registry is a map
// as: api/x.go

package api

var registry = map[string]int{}
