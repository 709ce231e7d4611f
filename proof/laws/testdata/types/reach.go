// want: calls middle, which calls now, which uses time.Now
// as: work/step_x.go

package work

func step() int64 { return middle() }
