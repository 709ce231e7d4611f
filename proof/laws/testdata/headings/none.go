// want: the package has no comment
// as: store/x/x.go

package x
