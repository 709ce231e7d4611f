package nats

import (
	"context"
	"net"
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

// folder is a folder for a server in this process. It goes when the test ends: in a while, if what the server leaves running still writes to it.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rota-nats-")
	must.Succeed(t, err)
	t.Cleanup(func() {
		end := time.Now().Add(time.Minute)
		err := os.RemoveAll(dir)
		for ; err != nil && time.Now().Before(end); err = os.RemoveAll(dir) {
			time.Sleep(5 * time.Millisecond) // waits: between two attempts, with a deadline
		}
		if err != nil {
			t.Errorf("remove a stopped server's folder: %v", err)
		}
	})
	return dir
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

func TestStart(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		s, err := Start(deadline(t), Options{Dir: folder(t), Nodes: nodes})
		must.Succeed(t, err)
		if n := len(s.URLs()); n != nodes || strings.Count(s.URL(), "nats://127.0.0.1:") != nodes {
			t.Errorf("%d nodes have the addresses %q, %q", nodes, s.URL(), s.URLs())
		}
		write(t, s.URL(), nodes)
		s.Stop()
		s.Stop()
		if _, err := nc.Connect(s.URL()); err == nil {
			t.Errorf("a server of %d nodes answers after it was stopped", nodes)
		}
	}
}

func TestDataStays(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for i := range 2 {
		s, err := Start(deadline(t), Options{Dir: dir})
		must.Succeed(t, err)
		write(t, s.URL(), 1)
		if n := read(t, s.URL()); n != uint64(i+1) {
			t.Errorf("start %d: %d messages", i, n)
		}
		s.Stop()
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
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	for name, o := range map[string]Options{
		"no directory":    {},
		"two nodes":       {Dir: t.TempDir(), Nodes: 2},
		"port of three":   {Dir: t.TempDir(), Nodes: 3, Port: 4222},
		"port is taken":   {Dir: t.TempDir(), Port: taken.Addr().(*net.TCPAddr).Port},
		"no directory is": {Dir: file},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if s, err := Start(ctx, o); err == nil {
			s.Stop()
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
		cancel()
	}
}
