// want: contrib/kafka must not import proof/server
// as: contrib/kafka/x.go

package kafka

import _ "github.com/rota-run/rota/proof/server"
