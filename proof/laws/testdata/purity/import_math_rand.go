// want: imports math/rand
// as: flow/x.go

package flow

import _ "math/rand"
