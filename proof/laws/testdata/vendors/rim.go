// want: protocol must not import modernc.org/sqlite
// as: protocol/x.go

package protocol

import _ "modernc.org/sqlite"
