package elastic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is which server is started.
type Kind struct {
	Name     string // "elasticsearch"
	Variable string // of the environment, with the addresses of servers to use instead of starting some: host:port,host:port
	Version  string
	group    string // of the artifact
}

// The kinds of servers.
var (
	Elasticsearch = Kind{"elasticsearch", "ROTA_TEST_ELASTICSEARCH", "8.19.21",
		"org.elasticsearch.distribution.integ-test-zip"}
	OpenSearch = Kind{"opensearch", "ROTA_TEST_OPENSEARCH", "2.19.6", "org.opensearch.distribution.integ-test-zip"}
)

// folder is the name of the unpacked server's folder.
func (k Kind) folder() string { return k.Name + "-" + k.Version }

// light are the flags of a server that need not be fast. Its classes are as they were released: nobody verifies them
// again at each start.
func light(dir string) []string {
	return []string{
		"-Xms128m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions",
		"-XX:-BytecodeVerificationRemote", "-Xss1m", "-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true",
		"-Djava.io.tmpdir=" + filepath.Join(dir, "tmp"),
	}
}

// command are the arguments of java.
func (k Kind) command(home, dir string) []string {
	if k == OpenSearch {
		return append(light(dir), "-Dopensearch.path.home="+home, "-Dopensearch.path.conf="+
			filepath.Join(dir, "config"),
			"-cp", filepath.Join(home, "lib", "*"), "org.opensearch.bootstrap.OpenSearch")
	}
	bridge := filepath.Join(home, "lib", "entitlement-bridge", "elasticsearch-entitlement-bridge-"+k.Version+".jar")
	return append(light(dir), "-Des.path.home="+home, "-XX:+EnableDynamicAgentLoading",
		"-Djdk.attach.allowAttachSelf=true",
		"--patch-module=java.base="+bridge,
		"--add-exports=java.base/org.elasticsearch.entitlement.bridge=org.elasticsearch.entitlement,java.logging,java.net.http,java.naming,jdk.net,jdk.zipfs,jdk.management.agent",
		"--module-path", filepath.Join(home, "lib"), "--add-modules=jdk.net,jdk.management.agent,ALL-MODULE-PATH",
		"-m", "org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch")
}

// settingsFile is the text of opensearch.yml.
func settingsFile(settings map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s: %q\n", key, settings[key])
	}
	return b.String()
}

// Logging is a configuration of log4j that writes to the console.
const Logging = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`

// arguments is what Elasticsearch's main class reads from its standard input: all settings included.
func arguments(dir string, settings map[string]string) []byte {
	var b bytes.Buffer
	text := func(s string) { b.Write(binary.AppendUvarint(nil, uint64(len(s)))); b.WriteString(s) }
	b.Write([]byte{0, 0, 0}) // no daemon, not quiet, no file for the pid
	text("org.elasticsearch.common.settings.KeyStoreWrapper")
	b.Write([]byte{0, 0, 0, 7, 0, 0, 0, 0}) // an empty keystore
	b.Write(binary.AppendUvarint(nil, uint64(len(settings))))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		text(key)
		b.WriteByte(0)
		text(settings[key])
	}
	text(filepath.Join(dir, "config"))
	text(filepath.Join(dir, "logs"))
	return b.Bytes()
}
