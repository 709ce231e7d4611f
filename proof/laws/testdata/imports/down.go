// want: nothing
// as: cmd/rota/x.go

package main

import _ "github.com/rota-run/rota/store/file"
