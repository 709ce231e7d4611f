package main

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

// demoServer is the program that runs a server of etcd or NATS. It is a program of its own, so that rota links no server.
const demoServer = "rota-demo-server"

// serverVariable names the program where it is neither beside rota nor in PATH.
const serverVariable = "ROTA_DEMO_SERVER"

// serve starts a server in a process of its own, with its data in a directory that stop removes.
func (s *stage) serve(ctx context.Context, scheme string) error {
	program, err := findDemoServer(s.getenv(serverVariable))
	if err != nil {
		return failed(fmt.Sprintf("go build -o bin/%s ./demoserver, in the folder proof of the source; or --store %s://HOST for a server that runs", demoServer, scheme), "%w", err)
	}
	dir, err := os.MkdirTemp("", "rota-demo-"+scheme+"-")
	if err != nil {
		return fmt.Errorf("make a directory for the server: %w", err)
	}
	url, end, err := startDemoServer(ctx, program, scheme, dir)
	if err != nil {
		return errors.Join(failed("rota demo", "%w", err), os.RemoveAll(dir))
	}
	s.base = url + "/demo"
	s.stop = func() error { return errors.Join(end(), os.RemoveAll(dir)) }
	return nil
}

// findDemoServer looks for the program where it was said to be, beside this program, and in PATH.
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

// startDemoServer returns when the server can be used. It ends with its standard input, and so with this process too.
func startDemoServer(ctx context.Context, program, kind, dir string) (url string, end func() error, err error) {
	cmd := exec.CommandContext(ctx, program, kind, dir) //nolint:gosec // the program that the user has beside rota or names
	var said strings.Builder
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("start a server of %s: %s: %w", kind, strings.TrimSpace(said.String()), errors.Join(cmd.Wait(), context.Cause(ctx)))
	}
	end = func() error {
		_ = in.Close()
		_, err := io.Copy(io.Discard, out)
		return errors.Join(err, cmd.Wait())
	}
	return strings.TrimSpace(line), end, nil
}
