// want: lock is a sync.Mutex
// as: api/x.go

package api

import "sync"

var lock sync.Mutex
