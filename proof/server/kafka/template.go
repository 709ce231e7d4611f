package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rota-run/rota/proof/server/child"
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
	dir, err := child.Cached("", "kafka-"+Version+"-template")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, child.Publish(dir, func(tmp string) (string, error) {
		made := filepath.Join(tmp, "template")
		return made, makeTemplate(ctx, java, lib, tmp, made)
	})
}

func makeTemplate(ctx context.Context, java, lib, tmp, made string) error {
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	ports, release, err := child.Ports(2)
	if err != nil {
		return err
	}
	defer release()
	n := &node{id: 1, dir: filepath.Join(tmp, "1"), Server: at(ports[0]), controller: ports[1], lib: lib}
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
	err := n.Begin(exec.Command(java, n.arguments("-XX:ArchiveClassesAtExit="+path)...))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // once on a machine, which may be busy
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = n.Signal(syscall.SIGKILL) })
	defer stop()
	err = n.Ready(ctx, 1)
	_ = n.Signal(syscall.SIGTERM) // it may have ended by itself; it ends with an exit code, as all do that are told to end
	<-n.Done()
	if _, missing := os.Stat(path); err == nil && missing != nil {
		err = fmt.Errorf("no archive: %.500s", n.Said())
	}
	return err
}
