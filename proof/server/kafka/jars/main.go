// Command jars prints the folder with the jars of the test servers, which it fills the first time. .ci/kafka runs it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/server/kafka"
)

func main() {
	_, dir, _, err := kafka.ConsoleParts(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, dir)
}
