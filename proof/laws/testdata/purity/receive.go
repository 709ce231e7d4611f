// want: receives from a channel
// as: work/step_x.go

package work

func f() int { return <-queue }
