// Command rota runs a member of a cluster, shows one, and demonstrates one. Run rota --help.
package main

import "github.com/rota-run/rota/rotacmd"

func main() { rotacmd.Main() }
