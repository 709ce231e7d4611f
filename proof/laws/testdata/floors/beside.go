// want: source (floor 5) must not import call (floor 5)
// as: source/x.go

package source

import _ "github.com/rota-run/rota/call"
