// want: starts a goroutine

package replica

func f() { go f() }
