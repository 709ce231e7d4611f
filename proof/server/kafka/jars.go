// Package kafka starts Kafka brokers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one broker or a cluster of three on ports of the
// loopback interface; each is its own controller too. Tests kill, freeze and restart the brokers, and ask which one
// leads a partition. With addresses in [Variable] tests use those brokers instead, and cannot kill them.
//
// # What is needed
//
// java (17 or newer), and the brokers' jars: in the folder of [JarsVariable], or resolved once by mvn, from a pinned
// list of dependencies, into the user's cache folder. .ci/kafka installs what a machine lacks. [Consumed] needs one jar
// more, with the commands of Kafka. Where something is missing, Start returns a [MissingError]; see [Require]. Beside
// the jars lies a template: what the formatting of a broker's folder writes, and an archive of loaded classes, which
// halves the time that a broker needs to start.
package kafka

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rota-run/rota/proof/server/child"
)

// Version is the version of the servers.
const Version = "4.3.1"

// JarsVariable is the environment variable with the folder of the servers' jars, as .ci/kafka prints it. Without it
// Maven fills one in the user's cache folder.
const JarsVariable = "ROTA_TEST_KAFKA_JARS"

// pom lists what the broker needs to serve.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>` + Version +
	`</version></dependency>
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

// Parts returns what a server is started with: the program java, and the folder with all jars. A [MissingError] says
// what this machine lacks.
func Parts(ctx context.Context) (java, lib string, err error) { return jars().Parts(ctx) }

// jars are the one folder of [JarsVariable], or one in the cache.
func jars() child.Maven {
	return child.Maven{Folder: "kafka-" + Version, Variable: JarsVariable, Sample: "kafka_2.13-" + Version + ".jar",
		Servers: Variable, POM: pom}
}

// consolePOM is the jar with the commands that the archive of Kafka has in its folder bin. The broker's jars have all
// else that the consumer needs.
const consolePOM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>kafka-console-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>` + Version +
	`</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
  </dependencies></project>
`

// ConsoleParts are those of [Parts], and the folder with the jar of the commands.
func ConsoleParts(ctx context.Context) (java, lib, console string, err error) {
	if java, lib, err = Parts(ctx); err != nil {
		return "", "", "", err
	}
	sample := "kafka-tools-" + Version + ".jar"
	console, err = child.Maven{Folder: "kafka-console-" + Version, Variable: "ROTA_TEST_KAFKA_CONSOLE", Sample: sample,
		Servers: Variable, POM: consolePOM}.Dir(ctx)
	return java, lib, console, err
}

// Consumed is what kafka-console-consumer --from-beginning prints of the first records of a topic, a line for each.
func Consumed(ctx context.Context, brokers []string, topic string, records int) ([]string, error) {
	java, lib, console, err := ConsoleParts(ctx)
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, java, "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-cp", lib+"/*:"+console+"/*", //nolint:gosec // found above
		"org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", strings.Join(brokers, ","), "--topic",
		topic, "--from-beginning",
		"--max-messages", strconv.Itoa(records))
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kafka-console-consumer: %w: %s", err, said.String())
	}
	text := string(out)
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "The consumer rebalance protocol") { // an advertisement
		text = rest
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}
