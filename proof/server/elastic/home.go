// Package elastic starts servers of Elasticsearch and OpenSearch for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one node or three on ports of the loopback
// interface. Tests kill and restart the nodes, and ask which one has the primary. With an address in the variable of a
// [Kind] tests use that server instead, and cannot kill it.
//
// # What is needed
//
// java (17 or newer), and the unpacked servers: in the folder of [HomeVariable], or resolved once by mvn into the
// user's cache folder. .ci/elastic installs what a machine lacks. Where something is missing, Start returns a
// [MissingError]; see [Require].
package elastic

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/proof/server/child"
)

// HomeVariable is the environment variable with the folder of the unpacked servers, as .ci/elastic prints it. Without
// it Maven fills one in the user's cache folder.
const HomeVariable = "ROTA_TEST_ELASTIC_HOME"

// pom lists the servers: their makers publish a distribution without plugins for tests of plugins.
func pom() string {
	text := `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>elastic-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
`
	for _, k := range []Kind{Elasticsearch, OpenSearch} {
		text += fmt.Sprintf("    <dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version><type>zip</type></dependency>\n", k.group, k.Name, k.Version)
	}
	return text + "  </dependencies></project>\n"
}

// unneeded is what is not unpacked.
const unneeded = "**/modules/apm/**,**/modules/x-pack*/**,**/lib/tools/*-cli/**,**/*.bat,**/*.exe,**/platform/darwin*/**,**/platform/windows*/**"

// MissingError says what a machine lacks to run the servers.
type MissingError = child.MissingError

// Require skips or fails a test where the error of [Start] or [Homes] says so: [child.Require].
func Require(t testing.TB, err error) {
	t.Helper()
	child.Require(t, "Elasticsearch", err)
}

// variables are what an error names: either server will do.
func variables() string { return Elasticsearch.Variable + " or " + OpenSearch.Variable }

// Homes returns the folder with the unpacked servers: the one of [HomeVariable], or one in the cache, which it fills
// the first time. Several processes may do that at once.
func Homes(ctx context.Context) (string, error) {
	return homes().Dir(ctx)
}

func homes() child.Maven {
	return child.Maven{
		Folder: Elasticsearch.folder() + "-" + OpenSearch.folder(), Variable: HomeVariable,
		Sample:  filepath.Join(Elasticsearch.folder(), "lib"),
		Servers: variables(), POM: pom(), Cache: cacheDir(), Finish: readable,
		Goal: []string{"unpack-dependencies", "-DoutputDirectory=out", "-DmarkersDirectory=markers",
			"-Dmdep.unpack.excludes=" + unneeded},
	}
}

// cacheDir is where the servers are kept; "" is the user's cache. That of root is often closed to the user that the
// servers run as.
func cacheDir() string {
	if os.Getuid() == 0 {
		return "/var/cache"
	}
	return ""
}

// readable lets other users read a folder: the servers refuse to run as root, and are then run as another user.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if d.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}
