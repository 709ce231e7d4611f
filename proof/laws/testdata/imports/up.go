// want: must not import node
// as: cluster/x.go

package cluster

import _ "github.com/rota-run/rota/node"
