package zookeeper

import (
	"context"
	"testing"

	"github.com/rota-run/rota/proof/server/child"
)

// Version is the version of the servers.
const Version = "3.9.5"

// JarsVariable is the environment variable with the folder of the servers' jars, as .ci/zookeeper prints it. Without it
// Maven fills one in the user's cache folder.
const JarsVariable = "ROTA_TEST_ZOOKEEPER_JARS"

// pom lists what the server needs to serve without TLS, and its shell. Without snappy-java its port opens and nobody
// answers.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>zookeeper-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
    <dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>` + Version +
	`</version>
      <exclusions>
        <exclusion><groupId>io.netty</groupId><artifactId>netty-transport-native-epoll</artifactId></exclusion>
        <exclusion><groupId>io.netty</groupId><artifactId>netty-tcnative-boringssl-static</artifactId></exclusion></exclusions></dependency>
    <dependency><groupId>io.dropwizard.metrics</groupId><artifactId>metrics-core</artifactId><version>4.1.12.1</version></dependency>
    <dependency><groupId>org.xerial.snappy</groupId><artifactId>snappy-java</artifactId><version>1.1.10.5</version></dependency>
    <dependency><groupId>commons-cli</groupId><artifactId>commons-cli</artifactId><version>1.5.0</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>2.0.13</version></dependency>
  </dependencies></project>
`

// MissingError says what a machine lacks to run the servers.
type MissingError = child.MissingError

// Require skips or fails a test where the error of [Start] or [Parts] says so: [child.Require].
func Require(t testing.TB, err error) {
	t.Helper()
	child.Require(t, "ZooKeeper", err)
}

// Parts returns what a server is started with: the program java, and the folder with all jars. A [MissingError] says
// what this machine lacks.
func Parts(ctx context.Context) (java, lib string, err error) { return jars().Parts(ctx) }

// jars are the one folder of [JarsVariable], or one in the cache.
func jars() child.Maven {
	return child.Maven{Folder: "zookeeper-" + Version + "-with-shell", Variable: JarsVariable, Sample: "zookeeper-" +
		Version + ".jar", Servers: Variable, POM: pom}
}
