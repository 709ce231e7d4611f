// want: nothing
// as: cmd/rota/x.go

package main

import (
	_ "github.com/rota-run/rota"
	_ "github.com/rota-run/rota/internal/plain"
	_ "github.com/rota-run/rota/rotacmd"
)
