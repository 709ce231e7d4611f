// want: nothing
// as: work/step_x.go

package work

func step() int64 { return twice(1) }
