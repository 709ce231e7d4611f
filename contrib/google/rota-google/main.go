// Command rota-google is the command rota with Google Cloud: task files and the journal in Datastore, samples to
// Pub/Sub.
package main

import (
	"github.com/rota-run/rota/contrib/google/datastore"
	"github.com/rota-run/rota/contrib/google/pubsub"
	"github.com/rota-run/rota/rotacmd"
)

func main() {
	rotacmd.Main(
		rotacmd.WithName("rota-google"),
		rotacmd.WithFiles("datastore", datastore.OpenTasks),
		rotacmd.WithStorage("datastore", datastore.OpenLogs),
		rotacmd.WithPublisher("pubsub", pubsub.Open),
	)
}
