package etcd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-run/rota/proof/server/child"
)

// Cluster is a cluster whose members are processes. Calls must not overlap, but for Endpoints and URL.
type Cluster struct {
	nodes   []node
	members []*member // nil where killed
	release func()    // gives up the ports
}

// member is the process of one member.
type member struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan error // one value: nil when it serves, or why it ended before
	done  chan struct{}
}

// StartCluster starts each member of a fresh cluster as a process of its own, from the file of [child.Program], and waits until all serve. A
// program that starts itself must call [Child] first of all. ctx bounds the start alone.
func StartCluster(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		c, err := startCluster(ctx, o)
		if err == nil || attempt == portAttempts || !strings.Contains(err.Error(), "address already in use") {
			return c, err
		}
	}
}

func startCluster(ctx context.Context, o Options) (*Cluster, error) {
	nodes, release, err := plan(o)
	if err != nil {
		return nil, err
	}
	c := &Cluster{nodes: nodes, members: make([]*member, len(nodes)), release: sync.OnceFunc(release)}
	for i := range nodes {
		if c.members[i], err = spawn(nodes[i]); err != nil {
			break
		}
	}
	for _, m := range c.members {
		if err == nil {
			err = m.await(ctx)
		}
	}
	if err != nil {
		c.Stop()
		for _, n := range nodes {
			err = errors.Join(err, os.RemoveAll(n.Dir))
		}
		return nil, err
	}
	return c, nil
}

func spawn(n node) (*member, error) {
	text, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("describe etcd member %s: %w", n.Name, err)
	}
	program, err := child.Program()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), nodeVariable+"="+string(text))
	m := &member{cmd: cmd, ready: make(chan error, 1), done: make(chan struct{})}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if m.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start etcd member %s: %w", n.Name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start etcd member %s: %w", n.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start etcd member %s: %w", n.Name, err)
	}
	go m.follow(n, bufio.NewScanner(stdout), &stderr)
	return m, nil
}

// follow waits for the member's line, and for its end.
func (m *member) follow(n node, lines *bufio.Scanner, stderr *strings.Builder) {
	defer close(m.done)
	served := false
	for lines.Scan() {
		if lines.Text() == readyLine && !served {
			served = true
			m.ready <- nil
		}
	}
	err := m.cmd.Wait()
	if !served {
		m.ready <- fmt.Errorf("etcd member %s ended before it served: %w: %s", n.Name, err, strings.TrimSpace(stderr.String()))
	}
}

func (m *member) await(ctx context.Context) error {
	select {
	case err := <-m.ready:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for etcd to be ready: %w", context.Cause(ctx))
	}
}

// Endpoints returns the addresses for clients, host:port, in the order of the members.
func (c *Cluster) Endpoints() []string { return endpoints(c.nodes) }

// URL returns the cluster's address as a Rota store names it, without a prefix.
func (c *Cluster) URL() string { return "etcd://" + strings.Join(c.Endpoints(), ",") }

// Kill ends a member as kill -9 does and waits until its process is gone. The member's data stays. Killing it again does nothing.
func (c *Cluster) Kill(i int) {
	m := c.members[i]
	if m == nil {
		return
	}
	_ = m.cmd.Process.Kill() // only a process that has ended cannot be killed
	<-m.done
	_ = m.stdin.Close()
	c.members[i] = nil
}

// Restart starts a killed member again, with its data and on its ports, and waits until it serves.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	if c.members[i] != nil {
		return fmt.Errorf("restart etcd member %s: it runs", c.nodes[i].Name)
	}
	m, err := spawn(c.nodes[i])
	if err != nil {
		return err
	}
	c.members[i] = m
	return m.await(ctx)
}

// Leader asks which member leads. It waits for one to be elected until ctx ends.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		return 0, fmt.Errorf("ask for the leader: %w", err)
	}
	defer client.Close() //nolint:errcheck // it was only asked
	for ctx.Err() == nil {
		for i, n := range c.nodes {
			if c.members[i] == nil {
				continue
			}
			if leads(ctx, client, n) {
				return i, nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // nothing tells when it is elected
		}
	}
	return 0, fmt.Errorf("ask for the leader: %w", context.Cause(ctx))
}

// leads asks a member whether it leads. One that does not answer for a while does not.
func leads(ctx context.Context, client *clientv3.Client, n node) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	st, err := client.Status(ctx, n.Client)
	return err == nil && st.Leader != 0 && st.Leader == st.Header.MemberId
}

// Stop kills all members. A second call does nothing.
func (c *Cluster) Stop() {
	var wg sync.WaitGroup
	for i, m := range c.members {
		if m != nil {
			wg.Go(func() { c.Kill(i) })
		}
	}
	wg.Wait()
	c.release()
}
