// want: count is a atomic.Int64
// as: api/x.go

package api

import "sync/atomic"

var count atomic.Int64
