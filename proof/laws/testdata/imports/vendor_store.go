// want: must not import store/file
// as: node/x.go

package node

import _ "github.com/rota-run/rota/store/file"
