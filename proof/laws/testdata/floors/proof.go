// want: work (floor 4) must not import proof (floor 10)
// as: work/x.go

package work

import _ "github.com/rota-run/rota/internal/proof/must"
