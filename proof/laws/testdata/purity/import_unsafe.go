// want: imports unsafe
// as: flow/x.go

package flow

import _ "unsafe"
