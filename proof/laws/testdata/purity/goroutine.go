// want: starts a goroutine
// as: protocol/replica/step_x.go

package replica

func f() { go f() }
