// Command check says whether a PostgreSQL server can be started here: exit 0, or 1 and what is missing. .ci/postgres runs it.
package main

import (
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/server/postgres"
)

func main() {
	for _, name := range []string{"initdb", "postgres", "pg_basebackup"} {
		if _, err := postgres.Program(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
