// want: imports os
// as: flow/x.go

package flow

import _ "os"
