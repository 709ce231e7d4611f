// Command jars prints the folder with the jars of the test servers, which it fills the first time. .ci/zookeeper runs it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/server/zookeeper"
)

func main() {
	_, dir, err := zookeeper.Parts(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, dir)
}
