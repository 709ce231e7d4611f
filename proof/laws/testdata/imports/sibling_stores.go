// want: must not import store/memory
// as: store/file/x.go

package file

import _ "github.com/rota-run/rota/store/memory"
