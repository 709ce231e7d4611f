// want: imports math/rand/v2
// as: flow/x.go

package flow

import _ "math/rand/v2"
