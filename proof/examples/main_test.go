package examples_test

import (
	"os"
	"testing"

	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server"
)

// programs is the directory with rota and the programs of the examples.
var programs string

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	const root = "github.com/rota-run/rota/"
	os.Exit(processtest.Main(m, &programs, root+"cmd/rota", root+"examples/wordcount", root+"examples/files",
		root+"examples/weather", root+"examples/loop", root+"proof/examples/changestream"))
}
