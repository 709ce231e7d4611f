package nats

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
)

func TestMain(m *testing.M) {
	if Child() {
		return
	}
	goleak.VerifyTestMain(m)
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// write stores one message, in a stream with replicas, and read tells how many there are.
func write(t *testing.T, url string, replicas int) {
	t.Helper()
	name := nc.MsgId(nc.NewInbox()) // by which the server knows it, if it must be sent again
	again(t, url, func(js nc.JetStreamContext) error {
		_, err := js.AddStream(&nc.StreamConfig{Name: "s", Subjects: []string{"s"}, Replicas: replicas})
		if err == nil {
			_, err = js.Publish("s", []byte("x"), name)
		}
		return err
	})
}

func read(t *testing.T, url string) (n uint64) {
	t.Helper()
	again(t, url, func(js nc.JetStreamContext) error {
		info, err := js.StreamInfo("s")
		if err == nil {
			n = info.State.Msgs
		}
		return err
	})
	return n
}

// again asks until there is an answer: on a busy machine a cluster may change its leader at any time, and be late.
func again(t *testing.T, url string, ask func(nc.JetStreamContext) error) {
	t.Helper()
	ctx := deadline(t)
	for {
		err := once(url, ask)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func once(url string, ask func(nc.JetStreamContext) error) error {
	c, err := nc.Connect(url)
	if err != nil {
		return err
	}
	defer c.Close()
	js, err := c.JetStream()
	if err != nil {
		return err
	}
	return ask(js)
}

func TestSpawn(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		p, err := Spawn(deadline(t), Options{Dir: t.TempDir(), Nodes: nodes, Monitor: true})
		must.Succeed(t, err)
		if n := len(p.URLs()); n != nodes || strings.Count(p.URL(), "nats://127.0.0.1:") != nodes {
			t.Errorf("%d nodes have the addresses %q, %q", nodes, p.URL(), p.URLs())
		}
		write(t, p.URL(), nodes)
		if n, err := p.Messages(deadline(t), 0); err != nil || n == 0 && nodes == 1 {
			t.Errorf("%d messages, %v", n, err)
		}
		p.Stop()
		p.Stop()
		if _, err := nc.Connect(p.URL()); err == nil {
			t.Errorf("a server of %d nodes answers after it was stopped", nodes)
		}
	}
}

func TestKilledNodesComeBack(t *testing.T) {
	t.Parallel()
	p, err := Spawn(deadline(t), Options{Dir: t.TempDir()})
	must.Succeed(t, err)
	defer p.Stop()
	write(t, p.URL(), 1)
	p.Kill(0)
	p.Kill(0)
	if _, err := nc.Connect(p.URL()); err == nil {
		t.Fatal("a killed node answers")
	}
	must.Succeed(t, p.Restart(0))
	must.Succeed(t, p.Await(deadline(t)))
	if n := read(t, p.URL()); n != 1 {
		t.Fatalf("%d messages after the restart, want 1", n)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	for name, o := range map[string]Options{"two nodes": {Dir: t.TempDir(), Nodes: 2}, "no directory": {Dir: file}} {
		if _, err := Spawn(deadline(t), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
