package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/rota-run/rota/proof/server/child"
)

// childVariable carries the plan of a node to the process that is to be it.
const childVariable = "ROTA_NATS_NODE"

// Child makes this process a node if [Spawn] started it as one: then it serves until its stdin ends, or it is killed, and returns true, and the
// program should end. A program that calls Spawn calls Child before all else.
func Child() bool {
	text := os.Getenv(childVariable)
	if text == "" {
		return false
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func serve(text string) error {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read %s: %w", childVariable, err)
	}
	n, err := launch(p)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // ends with the parent, however that ends
	n.Shutdown()
	n.WaitForShutdown()
	return err
}

// Processes are the nodes of a server, each a process of its own.
type Processes struct {
	plans   []plan
	nodes   []*node
	release func() // gives up the ports: a node that was killed finds them when it comes back
}

type node struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// Spawn starts the nodes as processes and returns when they can be used. ctx bounds the start alone. Stop them.
func Spawn(ctx context.Context, o Options) (*Processes, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("spawn NATS server: %w", err)
	}
	all, release, err := plans(o)
	if err != nil {
		return nil, err
	}
	p := &Processes{plans: all, nodes: make([]*node, len(all)), release: sync.OnceFunc(release)}
	for i := range all {
		if err := p.run(i); err != nil {
			p.Stop()
			return nil, err
		}
	}
	if err := p.Await(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Processes) run(i int) error {
	text, err := json.Marshal(p.plans[i])
	if err != nil {
		return err
	}
	program, err := child.Program()
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start node %s: %w", p.plans[i].Name, err)
	}
	p.nodes[i] = &node{cmd, stdin}
	return nil
}

// URL is what a client connects to: the addresses of all nodes, with commas between them.
func (p *Processes) URL() string { return join(p.plans) }

// URLs are the addresses of the nodes, one by one, also of those that do not run.
func (p *Processes) URLs() []string { return urls(p.plans) }

// Names are the names under which the nodes speak of each other.
func (p *Processes) Names() []string {
	names := make([]string, len(p.plans))
	for i := range p.plans {
		names[i] = p.plans[i].Name
	}
	return names
}

// Kill ends node i at once, as kill -9 does, and returns when it is gone.
func (p *Processes) Kill(i int) {
	n := p.nodes[i]
	if n == nil {
		return
	}
	_ = n.cmd.Process.Kill() // it may have ended by itself
	_ = n.cmd.Wait()
	p.nodes[i] = nil
}

// Signal sends a signal to node i, to freeze it for instance.
func (p *Processes) Signal(i int, sig os.Signal) error { return p.nodes[i].cmd.Process.Signal(sig) }

// Restart starts node i again, on its port and its data; see Await.
func (p *Processes) Restart(i int) error {
	p.Kill(i)
	return p.run(i)
}

// Stop kills all nodes. A second call does nothing.
func (p *Processes) Stop() {
	for i := range p.nodes {
		p.Kill(i)
	}
	p.release()
}
