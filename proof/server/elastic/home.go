package elastic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// HomeVariable is the environment variable with the folder of the unpacked servers, as .ci/elastic prints it. Without it Maven fills one in the user's
// cache folder.
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
type MissingError struct {
	What string // the program or what could not be resolved
	Err  error
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing, or set %s or %s=host:port to a server that runs: %v", e.What, Elasticsearch.Variable, OpenSearch.Variable, e.Err)
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Homes returns the folder with the unpacked servers: the one of [HomeVariable], or one in the cache, which it fills the first time. Several processes may
// do that at once.
func Homes(ctx context.Context) (string, error) {
	if dir := os.Getenv(HomeVariable); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, Elasticsearch.folder(), "lib")); err != nil {
			return "", &MissingError{"a server in the folder of " + HomeVariable, err}
		}
		return dir, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return "", &MissingError{"a cache folder", err}
	}
	dir := filepath.Join(cache, "rota", Elasticsearch.folder()+"-"+OpenSearch.folder())
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", &MissingError{"mvn", err}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	return dir, resolve(ctx, mvn, dir)
}

// cacheDir is where the servers are kept. That of root is often closed to the user that the servers run as.
func cacheDir() (string, error) {
	if os.Getuid() == 0 {
		return "/var/cache", nil
	}
	return os.UserCacheDir()
}

// resolve fills a folder beside dir and renames it, so that dir is complete or not there.
func resolve(ctx context.Context, mvn, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "resolving-")
	if err != nil {
		return fmt.Errorf("make a folder for the servers: %w", err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // leftovers are harmless
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), []byte(pom()), 0o600); err != nil {
		return fmt.Errorf("write the list of servers: %w", err)
	}
	out := filepath.Join(tmp, "home")
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack-dependencies",
		"-DoutputDirectory="+out, "-DmarkersDirectory="+filepath.Join(tmp, "markers"), "-Dmdep.unpack.excludes="+unneeded)
	cmd.Dir = tmp
	if text, err := cmd.CombinedOutput(); err != nil {
		return &MissingError{"a way to the servers", fmt.Errorf("mvn: %w: %.500s", err, text)}
	}
	if err := readable(out); err != nil {
		return fmt.Errorf("let other users read the servers: %w", err)
	}
	err = os.Rename(out, dir)
	if errors.Is(err, fs.ErrExist) { // somebody was faster
		return nil
	}
	return err
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
