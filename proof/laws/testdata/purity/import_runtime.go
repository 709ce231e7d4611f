// want: imports runtime
// as: flow/x.go

package flow

import _ "runtime"
