// want: imports context
// as: flow/x.go

package flow

import _ "context"
