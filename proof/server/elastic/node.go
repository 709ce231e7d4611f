package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rota-run/rota/proof/server/child"
)

// node is one server: its folder, its address, and its process while it lives.
type node struct {
	kind     Kind
	dir      string
	java     string
	home     string
	addr     string // of HTTP
	settings map[string]string
	input    io.Closer

	*child.Process // nil: it does not run
}

// write makes the node's folder.
func (n *node) write() error {
	for _, sub := range []string{"config", "data", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(n.dir, sub), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"opensearch.yml": settingsFile(n.settings), "log4j2.properties": Logging, "jvm.options": ""} {
		if n.kind == OpenSearch {
			if err := os.WriteFile(filepath.Join(n.dir, "config", name), []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
				return err
			}
		}
	}
	return nil
}

// Addr implements child.Node.
func (n *node) Addr() string { return n.addr }

// Launch implements child.Node.
func (n *node) Launch() error {
	cmd := exec.Command(n.java, n.kind.command(n.home, n.dir)...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "LIBFFI_TMPDIR="+filepath.Join(n.dir, "tmp"))
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	n.input = input
	if err := yield(cmd, n.dir); err != nil {
		return err
	}
	if n.Process, err = child.Start(cmd); err != nil {
		return err
	}
	if n.kind == Elasticsearch { // it ends when its input does
		_, err = input.Write(arguments(n.dir, n.settings))
	}
	return err
}

// Kill implements child.Node.
func (n *node) Kill() {
	if !n.Running() {
		return
	}
	n.Process.Kill()
	_ = n.input.Close() // nobody reads it any more
	n.Process = nil
}

// get asks the node for a page; false if it does not answer well.
func (n *node) get(ctx context.Context, path string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr+path, nil)
	if err != nil {
		return false
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) == nil
}

// Ready implements child.Node: the node serves in a cluster of so many.
func (n *node) Ready(ctx context.Context, nodes int) error {
	return n.Await(ctx, fmt.Sprintf("%s as one of %d nodes", n.addr, nodes), func() bool {
		var health struct {
			Nodes int `json:"number_of_nodes"`
		}
		return n.get(ctx, "/_cluster/health?timeout=1s", &health) && health.Nodes >= nodes
	})
}
