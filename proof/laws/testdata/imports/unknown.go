// want: add it to the table
// as: nowhere/x.go

package nowhere
