//go:build unix

package pages

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/server/zookeeper"
)

// freePort is one that nobody else gets while the test runs.
func freePort(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	_, number, err := net.SplitHostPort(addrs[0])
	must.Succeed(t, err)
	return number
}

// reader is a user in front of a page: what is on her machine, and which ports and folders she has in place of those of
// the page.
type reader struct {
	env     []string
	instead []string
	prepare func(t *testing.T, serverDir string)
}

// readers are by page. Whoever writes a page adds it here.
func readers() map[string]func(t *testing.T) reader {
	return map[string]func(t *testing.T) reader{
		"file": readerOfFile, "elastic": readerOfElastic, "etcd": readerOfEtcd, "kafka": readerOfKafka,
		"nats": readerOfNATS, "postgres": readerOfPostgres, "zookeeper": readerOfZooKeeper,
	}
}

func nothing(*testing.T, string) {}

func readerOfFile(*testing.T) reader { return reader{prepare: nothing} }

// The page names no port of etcd where it has those that etcd has by itself. Other ones come from the environment.
func readerOfEtcd(t *testing.T) reader {
	client, peer := freePort(t), freePort(t)
	return reader{
		instead: []string{"2379", client, "/tmp/etcd", t.TempDir()}, prepare: nothing,
		env: []string{
			"ETCD_LISTEN_CLIENT_URLS=http://localhost:" + client, "ETCD_ADVERTISE_CLIENT_URLS=http://localhost:" +
				client,
			"ETCD_LISTEN_PEER_URLS=http://localhost:" + peer, "ETCD_INITIAL_ADVERTISE_PEER_URLS=http://localhost:" +
				peer,
			"ETCD_INITIAL_CLUSTER=default=http://localhost:" + peer,
		},
	}
}

func readerOfNATS(t *testing.T) reader {
	return reader{instead: []string{"4222", freePort(t)}, prepare: nothing}
}

// The official archive is not here. In one of its name lies another bin/zkServer.sh, which starts the same class with
// the page's configuration.
func readerOfZooKeeper(t *testing.T) reader {
	java, lib, err := zookeeper.Parts(t.Context())
	if _, ok := errors.AsType[*zookeeper.MissingError](err); ok {
		t.Skipf("NOT TESTED: the page of ZooKeeper cannot be tried here: %v", err)
	}
	must.Succeed(t, err)
	return reader{
		instead: []string{"2181", freePort(t), "/tmp/zookeeper", t.TempDir()},
		prepare: func(t *testing.T, dir string) {
			name := "apache-zookeeper-" + zookeeper.Version + "-bin"
			script := map[string]string{"bin/zkServer.sh": fmt.Sprintf(zkServer, java, lib)}
			must.Succeed(t, writeArchive(filepath.Join(dir, name+".tar.gz"), name, []string{"bin/", "conf/"}, script))
		},
	}
}

// The official archive is not here. In one of its name lies another bin/opensearch, which starts the same class with
// the page's configuration.
func readerOfElastic(t *testing.T) reader {
	home, err := elastic.Homes(t.Context())
	if _, ok := errors.AsType[*elastic.MissingError](err); ok {
		t.Skipf("NOT TESTED: the page of Elasticsearch and OpenSearch cannot be tried here: %v", err)
	}
	must.Succeed(t, err)
	version := elastic.OpenSearch.Version
	return reader{
		instead: []string{"9200", freePort(t), "/tmp/opensearch", t.TempDir()},
		prepare: func(t *testing.T, dir string) {
			script := map[string]string{"bin/opensearch": fmt.Sprintf(osServer,
				filepath.Join(home, "opensearch-"+version)), "config/log4j2.properties": elastic.Logging,
				"config/jvm.options": ""}
			err := writeArchive(filepath.Join(dir, "opensearch-min-"+version+"-linux-x64.tar.gz"),
				"opensearch-"+version, []string{"bin/", "config/", "tmp/"}, script)
			must.Succeed(t, err)
		},
	}
}

// As root it runs the server as another user, which the server insists on.
const osServer = `#!/bin/sh
set -e
home='%s'
[ "$1" = -d ] || { echo "$0: $1 is not -d" >&2; exit 1; }
cd "$(dirname "$0")/.."
as=
if [ "$(id -u)" = 0 ]; then
  data=$(sed -n 's/^path.data: //p' config/opensearch.yml)
  chown -R 65534:65534 . "$data"
  for dir in "$PWD" "$data"; do
    while [ "$dir" != / ] && [ "$dir" != /tmp ]; do chmod a+x "$dir"; dir=$(dirname "$dir"); done
  done
  as='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
nohup $as java -Xms128m -Xmx160m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true \
  -Djava.io.tmpdir="$PWD/tmp" -Dopensearch.path.home="$home" -Dopensearch.path.conf="$PWD/config" -cp "$home/lib/*" org.opensearch.bootstrap.OpenSearch >opensearch.out 2>&1 &
`

const zkServer = `#!/bin/sh
set -e
[ "$1" = start ] || { echo "$0: $1 is not start" >&2; exit 1; }
cd "$(dirname "$0")/.."
nohup '%s' -Xms16m -Xmx160m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '%s/*' \
  org.apache.zookeeper.server.quorum.QuorumPeerMain conf/zoo.cfg >zookeeper.out 2>&1 &
echo STARTED
`

// The same for Kafka: two scripts, which start the same classes with the page's configuration.
func readerOfKafka(t *testing.T) reader {
	java, lib, err := kafka.Parts(t.Context())
	if _, ok := errors.AsType[*kafka.MissingError](err); ok {
		t.Skipf("NOT TESTED: the page of Kafka cannot be tried here: %v", err)
	}
	must.Succeed(t, err)
	return reader{
		instead: []string{"9092", freePort(t), "9093", freePort(t), "/tmp/kafka", t.TempDir()},
		prepare: func(t *testing.T, dir string) {
			name := "kafka_2.13-" + kafka.Version
			scripts := map[string]string{"bin/kafka-storage.sh": fmt.Sprintf(kafkaStorage, java, lib),
				"bin/kafka-server-start.sh": fmt.Sprintf(kafkaServer, java, lib)}
			must.Succeed(t, writeArchive(filepath.Join(dir, name+".tgz"), name, []string{"bin/", "config/"}, scripts))
		},
	}
}

const kafkaStorage = `#!/bin/sh
exec '%s' -cp '%s/*' kafka.tools.StorageTool "$@"
`

const kafkaServer = `#!/bin/sh
set -e
[ "$1" = -daemon ] || { echo "$0: $1 is not -daemon" >&2; exit 1; }
nohup '%s' -Xms32m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '%s/*' \
  kafka.Kafka "$2" >kafka.out 2>&1 &
`

// writeArchive writes what the official archive holds, as far as the page uses it.
func writeArchive(file, name string, dirs []string, files map[string]string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, dir := range dirs {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/" + dir, Mode: 0o755}); err != nil {
			return err
		}
	}
	for path, text := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + path, Mode: 0o755,
			Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

// TestGuides does what each page of a store says, by copy and paste, from nothing to three members that share the tasks
// of the quickstart, and on to the end of the last one.
func TestGuides(t *testing.T) {
	t.Parallel()
	for page, comes := range readers() {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			r := comes(t)
			g := guide(t, page, r.instead...)
			u := newUser(t, programs.build(t, g.Programs), r.env...)
			r.prepare(t, filepath.Join(u.dir, "server"))
			must.Succeed(t, u.follow(t.Context(), g))
		})
	}
}

func TestEachPageIsTried(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob(filepath.Join(root, "docs", "stores", "*.md")))(t)
	tried := readers()
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".md")
		if tried[name] == nil {
			t.Errorf("%s: nobody tries this page: add a reader", f)
		}
		delete(tried, name)
	}
	for name := range tried {
		t.Errorf("there is no page docs/stores/%s.md", name)
	}
}

var triedWith = regexp.MustCompile(`(?:all that is said here was tried|Everything on this page was tested) with ([0-9.]+[0-9])`)

// What the pages say that they were tried with is what this test tries them with.
func TestVersionsOfThePages(t *testing.T) {
	t.Parallel()
	mod := must.Get(os.ReadFile(filepath.Join(root, "proof", "go.mod")))(t)
	ours := string(mod) + "zookeeper v" + zookeeper.Version + "\nopensearch v" + elastic.OpenSearch.Version +
		"\nkafka v" + kafka.Version + "\n"
	for page, module := range map[string]string{
		"etcd": "go.etcd.io/etcd/server/v3", "kafka": "kafka", "nats": "github.com/nats-io/nats-server/v2",
		"zookeeper": "zookeeper", "elastic": "opensearch",
	} {
		text := must.Get(os.ReadFile(filepath.Join(root, "docs", "stores", page+".md")))(t)
		m := triedWith.FindSubmatch(text)
		if m == nil || !regexp.MustCompile(regexp.QuoteMeta(module+" v"+string(m[1]))+`\s`).MatchString(ours) {
			t.Errorf("docs/stores/%s.md: it says %q, and this is tried with another version of %s", page, m, module)
		}
	}
}

// A page whose commands are all well formed, and that leads nowhere, fails where it does.
func TestAPageThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	sound := guide(t, "nats")
	bin := programs.build(t, sound.Programs)
	for _, c := range []struct {
		name     string
		old, new string
		within   time.Duration // only where there is nothing to see but that it does not come
		want     []string
	}{
		{"the server listens elsewhere", "listen: 127.0.0.1:4222", "listen: 127.0.0.1:-1", 5 * time.Second,
			[]string{"start the server and check it", "it is not so in time"}},
		{"the server refuses its file", "jetstream {", "jetstream [", patience,
			[]string{"start the server and check it", "nats-server", "exit status 1"}},
		{"there is no such server", "nats-server -c", "nats-servers -c", patience,
			[]string{"start the server and check it", "exit status 127"}},
		{"there are no such tasks", "./examples/quickstart/tasks", "./examples/quickstart/task", patience,
			[]string{"start three members", "not a directory of task files"}},
		{"no such flag to look", "rota member list --store", "rota member list --stores x --store", patience,
			[]string{"start three members", "unknown flag"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := must.Get(os.ReadFile(filepath.Join(root, "docs", "stores", "nats.md")))(t)
			broken := strings.Replace(string(text), c.old, c.new, 1)
			g, err := ReadGuide(strings.ReplaceAll(broken, "4222", freePort(t)))
			if err != nil || broken == string(text) {
				t.Fatalf("the page is the same, or cannot be read: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			err = newUser(t, bin).follow(ctx, g)
			if err == nil || slices.ContainsFunc(c.want,
				func(w string) bool { return !strings.Contains(err.Error(), w) }) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
