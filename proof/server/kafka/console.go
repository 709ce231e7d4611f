package kafka

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rota-run/rota/proof/server/child"
)

// consolePOM is the jar with the commands that the archive of Kafka has in its folder bin. The broker's jars have all else that the consumer needs.
const consolePOM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>kafka-console-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>` + Version + `</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
  </dependencies></project>
`

// ConsoleParts are those of [Parts], and the folder with the jar of the commands.
func ConsoleParts(ctx context.Context) (java, lib, console string, err error) {
	if java, lib, err = Parts(ctx); err != nil {
		return "", "", "", err
	}
	sample := "kafka-tools-" + Version + ".jar"
	console, err = child.Maven{Folder: "kafka-console-" + Version, Variable: "ROTA_TEST_KAFKA_CONSOLE", Sample: sample, Servers: Variable, POM: consolePOM}.Dir(ctx)
	return java, lib, console, err
}

// Consumed is what kafka-console-consumer --from-beginning prints of the first records of a topic, a line for each.
func Consumed(ctx context.Context, brokers []string, topic string, records int) ([]string, error) {
	java, lib, console, err := ConsoleParts(ctx)
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, java, "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", lib+"/*:"+console+"/*", //nolint:gosec // found above
		"org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", strings.Join(brokers, ","), "--topic", topic, "--from-beginning",
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
