// want: uses time.Now

package cluster

import "time"

var start = time.Now()
