// want: imports with a dot
// as: cluster/x.go

package cluster

import . "time"

var start = Now()
