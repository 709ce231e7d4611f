// Command node is a node of etcd or NATS for the tests: what starts it says which, and ends it. .ci/node builds it.
package main

import (
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/proof/server/child"
)

func main() {
	if !server.Child() {
		fmt.Fprintf(os.Stderr, "node: tests start it, with %s set to its path\n", child.NodeVariable)
		os.Exit(2)
	}
}
