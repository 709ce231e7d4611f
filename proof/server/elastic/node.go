package elastic

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rota-run/rota/proof/server/child"
)

// node is one server: its folder, its address, and its process while it lives.
type node struct {
	kind     Kind
	dir      string
	java     string
	home     string
	settings map[string]string
	child.Server
}

// write makes the node's folder.
func (n *node) write() error {
	for _, sub := range []string{"config", "data", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(n.dir, sub), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"opensearch.yml": settingsFile(n.settings), "log4j2.properties": Logging,
		"jvm.options": ""} {
		if n.kind == OpenSearch {
			if err := os.WriteFile(filepath.Join(n.dir, "config", name), []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
				return err
			}
		}
	}
	return nil
}

// Launch implements child.Node.
func (n *node) Launch() error {
	cmd := exec.Command(n.java, n.kind.command(n.home, n.dir)...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "LIBFFI_TMPDIR="+filepath.Join(n.dir, "tmp"))
	err := yield(cmd, n.dir)
	if err == nil {
		err = n.Begin(cmd)
	}
	if err == nil && n.kind == Elasticsearch { // it ends when its input does
		_, err = n.Stdin.Write(arguments(n.dir, n.settings))
	}
	return err
}

// get asks the node for a page; false if it does not answer well.
func (n *node) get(ctx context.Context, path string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Addr()+path, nil)
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
	return n.Await(ctx, fmt.Sprintf("%s as one of %d nodes", n.Addr(), nodes), func() bool {
		var health struct {
			Nodes int `json:"number_of_nodes"`
		}
		return n.get(ctx, "/_cluster/health?timeout=1s", &health) && health.Nodes >= nodes
	})
}

// nobody is the user that servers run as which refuse to run as root.
const nobody = 65534

// yield gives the child, and its folder, to another user if this one is root.
func yield(cmd *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	for above := filepath.Dir(dir); above != os.TempDir() && above != filepath.Dir(above); above = filepath.Dir(above) {
		if err := passable(above); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

// passable lets others enter a folder that is ours.
func passable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o011 == 0o011 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// Requests returns how many HTTP requests a server of Elasticsearch has answered since it started, by its own count.
// OpenSearch has no such count.
func (c *Cluster) Requests(ctx context.Context, i int) (uint64, error) {
	var stats struct {
		Nodes map[string]struct {
			HTTP struct {
				Routes map[string]struct {
					Requests struct{ Count uint64 }
				}
			}
		}
	}
	n := &node{Server: child.Server{Address: c.Servers()[i]}}
	if !n.get(ctx, "/_nodes/_local/stats/http", &stats) {
		return 0, fmt.Errorf("count requests: %s does not say how many it had", n.Addr())
	}
	var sum uint64
	for _, s := range stats.Nodes {
		for _, r := range s.HTTP.Routes {
			sum += r.Requests.Count
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("count requests: %s does not count them", n.Addr())
	}
	return sum, nil
}
