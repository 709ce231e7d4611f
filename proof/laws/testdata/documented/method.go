// want: Open is exported and not documented
// as: api/x.go

package api

// Door opens.
type Door[T any] struct{}

func (d *Door[T]) Open() {}
