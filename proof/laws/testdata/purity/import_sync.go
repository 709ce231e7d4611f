// want: imports sync
// as: flow/x.go

package flow

import _ "sync"
