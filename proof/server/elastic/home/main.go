// Command home prints the folder with the unpacked test servers, which it fills the first time. .ci/elastic runs it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/server/elastic"
)

func main() {
	dir, err := elastic.Homes(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, dir)
}
