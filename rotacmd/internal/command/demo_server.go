package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// demoServer is the program that runs a server of etcd, NATS or PostgreSQL. It is a program of its own, so that rota links no server.
const demoServer = "rota-demo-server"

// serverVariable is the environment variable that names the program where it is neither beside rota nor in PATH.
const serverVariable = "ROTA_DEMO_SERVER"

// demoServerHelp is what to try where the program is missing.
const demoServerHelp = "go build -C proof -o ../bin/" + demoServer + " ./demoserver, in the source of rota; or --store %s://HOST for a server that runs; or --store memory:"

// serve starts a server in a process of its own, with its data in a directory that stop removes.
func (s *stage) serve(ctx context.Context, scheme string) error {
	try := fmt.Sprintf(demoServerHelp, scheme)
	program, err := findDemoServer(s.getenv(serverVariable))
	if err != nil {
		return failed(try, "%w", err)
	}
	dir, err := os.MkdirTemp("", "rota-demo-"+scheme+"-")
	if err != nil {
		return fmt.Errorf("make a directory for the server: %w", err)
	}
	url, end, err := startDemoServer(ctx, program, scheme, dir)
	if err != nil {
		return errors.Join(failed(try, "%w", err), os.RemoveAll(dir))
	}
	s.base = url + "/demo"
	s.stop = func() error { return errors.Join(end(), os.RemoveAll(dir)) }
	return nil
}

// findDemoServer looks for the program where the environment says it is, beside this program, and in PATH.
func findDemoServer(said string) (string, error) {
	if said != "" {
		return said, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), demoServer)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(demoServer)
	if err != nil {
		return "", fmt.Errorf("find the program %s, which runs a server for a demonstration: %w", demoServer, err)
	}
	return found, nil
}

// startDemoServer returns when the server can be used; ctx bounds that alone. The server ends with its standard input, and so with this process too:
// when a demonstration is interrupted, its members leave first.
func startDemoServer(ctx context.Context, program, kind, dir string) (url string, end func() error, err error) {
	cmd := exec.Command(program, kind, dir) //nolint:gosec // the program that is beside rota, or that the user names
	var said strings.Builder                // read it when the process has ended
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start %s: %w", program, err)
	}
	started := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended
	line, err := bufio.NewReader(out).ReadString('\n')
	if !started() || err != nil {
		_ = in.Close()
		err := errors.Join(cmd.Wait(), context.Cause(ctx))
		return "", nil, fmt.Errorf("start a server of %s with %s: %s: %w", kind, program, strings.TrimSpace(said.String()), err)
	}
	end = func() error {
		_ = in.Close()
		_, err := io.Copy(io.Discard, out)
		return errors.Join(err, cmd.Wait())
	}
	return strings.TrimSpace(line), end, nil
}
