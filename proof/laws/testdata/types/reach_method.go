// want: calls read, which uses time.Now
// as: work/step_x.go

package work

func step(c clock) int64 { return c.read() }
