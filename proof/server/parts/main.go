// Command parts prints the folder with what the test servers of a kind are started with, which it fills the first time;
// of PostgreSQL it only looks for the programs. Exit codes: 0 it is all there, 1 something is missing. The scripts
// .ci/kafka, .ci/zookeeper, .ci/elastic and .ci/postgres run it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/server/zookeeper"
)

func main() {
	dir, err := parts(context.Background(), os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, dir)
}

func parts(ctx context.Context, kind string) (dir string, err error) {
	switch kind {
	case "elastic":
		return elastic.Homes(ctx)
	case "kafka":
		_, dir, _, err = kafka.ConsoleParts(ctx)
	case "postgres":
		for _, name := range []string{"pg_basebackup", "postgres", "initdb"} {
			if dir, err = postgres.Program(name); err != nil {
				break
			}
		}
	case "zookeeper":
		_, dir, err = zookeeper.Parts(ctx)
	default:
		err = fmt.Errorf("unknown kind %q: give elastic, kafka, postgres or zookeeper", kind)
	}
	return dir, err
}
