// want: imports crypto/rand
// as: flow/x.go

package flow

import _ "crypto/rand"
