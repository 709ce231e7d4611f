package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// What lies in the template.
const (
	checkpoint = "bootstrap.checkpoint" // which features a formatted folder begins with
	classes    = "classes.jsa"          // the classes that a broker loads; the program java ignores it if it is not its own
)

// clusterID is the same for all: no two clusters of tests meet.
const clusterID = "AAAAAAAAAAAAAAAAAAAAAQ"

// template returns the folder with the template, which it makes the first time. Several processes may do that at once.
func template(ctx context.Context, java, lib string) (string, error) {
	dir, err := cached("kafka-" + Version + "-template")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "formatting-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the template: %w", err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // leftovers are harmless
	made := filepath.Join(tmp, "template")
	if err := makeTemplate(ctx, java, lib, tmp, made); err != nil {
		return "", fmt.Errorf("make the template of a broker: %w", err)
	}
	err = os.Rename(made, dir)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) { // somebody was faster
		return dir, nil
	}
	return dir, err
}

func makeTemplate(ctx context.Context, java, lib, tmp, made string) error {
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	ports, release, err := freePorts(2)
	if err != nil {
		return err
	}
	defer release()
	n := &node{id: 1, dir: filepath.Join(tmp, "1"), port: ports[0], controller: ports[1], lib: lib}
	if err := n.configure([]*node{n}, Options{}, ""); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, java, "-cp", filepath.Join(lib, "*"), "kafka.tools.StorageTool", "format",
		"-t", clusterID, "-c", filepath.Join(n.dir, "server.properties")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format: %w: %.500s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(n.dir, "data", checkpoint))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(made, checkpoint), b, 0o644); err != nil { //nolint:gosec // it holds no secret
		return err
	}
	return n.archive(ctx, java, filepath.Join(made, classes))
}

// archive runs a broker once, which writes the archive of its classes when it ends.
func (n *node) archive(ctx context.Context, java, path string) error {
	cmd := exec.CommandContext(ctx, java, n.arguments("-XX:ArchiveClassesAtExit="+path)...)
	var out bytes.Buffer
	cmd.Stderr, cmd.Stdout = &out, &out
	bind(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	n.exited = make(chan struct{})
	err := n.ready(ctx, 1)
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	_ = cmd.Wait()                          // it ends with an exit code, as all do that are told to end
	if _, missing := os.Stat(path); err == nil && missing != nil {
		err = fmt.Errorf("no archive: %.500s", out.String())
	}
	return err
}
