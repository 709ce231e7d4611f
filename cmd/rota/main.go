// Command rota runs a member of a cluster, shows one, and demonstrates one. Run rota --help.
package main

import (
	"os"
	_ "time/tzdata" // time zones of cron lines, also where the machine has none

	"github.com/rota-run/rota/node/guardian"
)

func main() {
	e := env{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	if guardian.Child(guardianOpens(e)) {
		return
	}
	os.Exit(execute(e))
}
