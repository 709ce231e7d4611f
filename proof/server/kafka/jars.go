package kafka

import (
	"context"
	"testing"

	"github.com/rota-run/rota/proof/server/child"
)

// Version is the version of the servers.
const Version = "4.3.1"

// JarsVariable is the environment variable with the folder of the servers' jars, as .ci/kafka prints it. Without it Maven fills one in the user's
// cache folder.
const JarsVariable = "ROTA_TEST_KAFKA_JARS"

// pom lists what the broker needs to serve.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>` + Version + `</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies></project>
`

// MissingError says what a machine lacks to run the servers.
type MissingError = child.MissingError

// Require skips or fails a test where the error of [Start] or [Parts] says so: [child.Require].
func Require(t testing.TB, err error) {
	t.Helper()
	child.Require(t, "Kafka", err)
}

// Parts returns what a server is started with: the program java, and the folder with all jars. A [MissingError] says what this machine lacks.
func Parts(ctx context.Context) (java, lib string, err error) { return jars().Parts(ctx) }

// jars are the one folder of [JarsVariable], or one in the cache.
func jars() child.Maven {
	return child.Maven{Folder: "kafka-" + Version, Variable: JarsVariable, Sample: "kafka_2.13-" + Version + ".jar", Servers: Variable, POM: pom}
}
