package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rota-run/rota/protocol"
)

// member is one member that is played with: a process, or inside this one. Its methods are called by one goroutine.
type member interface {
	// crash ends it without a word to the others. The instant is right before, as that of the next two.
	crash() (protocol.Instant, error)
	// suspend makes it silent.
	suspend(ctx context.Context) (protocol.Instant, error)
	// leave makes it leave gracefully.
	leave() (protocol.Instant, error)
	// resume lets one that was suspended go on; else it does nothing.
	resume() error
	// done is closed when it has ended.
	done() <-chan struct{}
	// err is how it ended; ask when done is closed.
	err() error
}

// words say what is done to members, each as the kind of member it is.
type words struct{ kind, crash, gone, suspend, resume, leave string }

func (o Options) words() words {
	w := words{
		kind: "each a process", crash: "kill -9 b", gone: "b is gone (its lock was released)",
		suspend: "c suspended (SIGSTOP)",
		resume:  "c wakes, finds itself removed, stops what it ran, rejoins", leave: "a leaves gracefully (SIGTERM)",
	}
	if o.inside() {
		w = words{
			kind: "all inside this process", crash: "b crashes: it loses the store, its tasks end, and its handle falls", gone: "b is gone (its handle fell)",
			suspend: "c suspended: the store does not answer it; its tasks go on until it stops them by its own clock",
			resume:  "the store answers c again: it finds itself removed, rejoins", leave: "a leaves gracefully",
		}
	}
	if o.silent() {
		w.gone = "b is gone (its heartbeat is gone, or was silent)"
	}
	return w
}

// ttl of the members.
const ttl = 4 * time.Second

// start starts a member, again if it has ended.
func (p *Play) start(name string) error {
	log, err := os.OpenFile(filepath.Join(p.dir, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("start member %s: %w", name, err)
	}
	if p.options.inside() {
		p.members[name] = startInsider(p.options.Server.Inside, p.arguments(name), log)
		return nil
	}
	m, err := p.startProcess(p.arguments(name), log)
	if err != nil {
		log.Close()
		return fmt.Errorf("start member %s: %w", name, err)
	}
	p.members[name] = m
	return nil
}

// arguments are those of rota run for a member. No file of settings where the demonstration is played has a say.
func (p *Play) arguments(name string) []string {
	args := []string{
		"--store", p.server().Store, "--member", name, "--ttl", ttl.String(), "--witness", p.witness(name), "--publish",
		"none", "--dev-types", "--config", os.DevNull, "--protocol", p.options.Protocol.Name(),
	}
	if p.options.NoSessions {
		args = append(args, "--no-sessions")
	}
	return append(args, filepath.Join(p.dir, "tasks"))
}

// ending is how long members may take to leave when all is over.
const ending = 15 * time.Second

// close ends all members that still run, and waits for them.
func (p *Play) close() {
	for _, m := range p.members {
		_ = m.resume() // it may have ended
		_, _ = m.leave()
	}
	limit := time.After(ending)
	for _, m := range p.members {
		select {
		case <-m.done():
		case <-limit:
			p.crashAll()
			<-m.done()
		}
	}
}

func (p *Play) crashAll() {
	for _, m := range p.members {
		_, _ = m.crash() // it may have ended
	}
}
