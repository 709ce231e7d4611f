// want: sends to a channel
// as: work/step_x.go

package work

func f() { queue <- 1 }
