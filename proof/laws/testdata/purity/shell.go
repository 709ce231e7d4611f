// want: nothing
// as: work/run.go

package work

import "time"

var start = time.Now()
