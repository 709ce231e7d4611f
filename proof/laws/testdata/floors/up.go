// want: store (floor 2) must not import work (floor 4)
// as: store/file/x.go

package file

import _ "github.com/rota-run/rota/work/stage"
