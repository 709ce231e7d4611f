// want: uses time.Since
// as: schedule/x.go

package schedule

import clock "time"

var since = clock.Since
