// want: must not import node

package cluster

import _ "github.com/rota-run/rota/node"
