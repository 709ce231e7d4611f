// want: imports log
// as: flow/x.go

package flow

import _ "log"
