// want: has a channel
// as: work/step_x.go

package work

var c chan int
