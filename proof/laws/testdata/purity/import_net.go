// want: imports net
// as: flow/x.go

package flow

import _ "net"
