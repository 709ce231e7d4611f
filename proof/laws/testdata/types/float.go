// want: has a float
// as: schedule/x.go

package schedule

import "time"

func f(d time.Duration) bool { return d.Seconds() > 1 }
