// want: init:
// as: api/x.go

package api

func init() {}
