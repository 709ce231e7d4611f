package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the version of the servers.
const Version = "3.9.5"

// JarsVariable is the environment variable with the folder of the servers' jars, as .ci/zookeeper prints it. Without it Maven fills one in the user's
// cache folder.
const JarsVariable = "ROTA_TEST_ZOOKEEPER_JARS"

// pom lists what the server needs to serve without TLS, and its shell. Without snappy-java its port opens and nobody answers.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>run.rota</groupId><artifactId>zookeeper-for-tests</artifactId><version>1</version><packaging>pom</packaging><dependencies>
    <dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>` + Version + `</version>
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
type MissingError struct {
	What string // the program or what could not be resolved
	Err  error
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing, or set %s=host:port to servers that run: %v", e.What, Variable, e.Err)
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Parts returns what a server is started with: the program java, and the folder with all jars. A [MissingError] says what this machine lacks.
func Parts(ctx context.Context) (java, lib string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", &MissingError{"java", err}
	}
	lib, err = jars(ctx)
	return java, lib, err
}

// jars returns the folder with the jars: the one of [JarsVariable], or one in the cache, which it fills the first time. Several processes may do that at
// once.
func jars(ctx context.Context) (string, error) {
	if dir := os.Getenv(JarsVariable); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "zookeeper-"+Version+".jar")); err != nil {
			return "", &MissingError{"a jar in the folder of " + JarsVariable, err}
		}
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &MissingError{"a cache folder", err}
	}
	dir := filepath.Join(cache, "rota", "zookeeper-"+Version+"-with-shell")
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

// resolve fills a folder beside dir and renames it, so that dir is complete or not there.
func resolve(ctx context.Context, mvn, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "resolving-")
	if err != nil {
		return fmt.Errorf("make a folder for the jars: %w", err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // leftovers are harmless
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), []byte(pom), 0o600); err != nil {
		return fmt.Errorf("write the list of dependencies: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
		"-DoutputDirectory=lib", "-DincludeScope=runtime")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return &MissingError{"a way to the servers' jars", fmt.Errorf("mvn: %w: %.500s", err, out)}
	}
	err = os.Rename(filepath.Join(tmp, "lib"), dir)
	if errors.Is(err, fs.ErrExist) { // somebody was faster
		return nil
	}
	return err
}
