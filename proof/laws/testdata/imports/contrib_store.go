// want: nothing
// as: contrib/kafka/examples/loop/x.go

package main

import (
	_ "github.com/rota-run/rota/contrib/kafka"
	_ "github.com/rota-run/rota/store/file"
)
