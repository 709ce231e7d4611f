// want: uses time.Now
// as: cluster/x.go

package cluster

import "time"

var start = time.Now()
