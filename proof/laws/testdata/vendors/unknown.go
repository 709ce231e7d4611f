// want: not in the table
// as: api/x.go

package api

import _ "example.org/left-pad"
