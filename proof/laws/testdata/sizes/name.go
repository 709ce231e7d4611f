// want: says nothing
// as: util/x.go

package util
