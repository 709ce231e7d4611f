package etcd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/etcd"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/storetest"
)

// holderVariable makes this program a process that holds a session, below the prefix and on the server that it names.
const holderVariable = "ROTA_ETCD_TEST_HOLDER"

// holderTTL is longer than a busy machine stands still between two steps of the holder.
const holderTTL = 6 * time.Second

// hold puts a document with a session, says so, and waits for the end of its input.
func hold(where string) error {
	endpoint, prefix, _ := strings.Cut(where, " ")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := Open(ctx, Options{Endpoints: []string{endpoint}, Prefix: prefix})
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.OpenSession(ctx, holderTTL)
	if err != nil {
		return err
	}
	if _, err := n.Put(ctx, store.Doc{Key: "s"}); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestSessionOfAKilledProcess has an owner who cannot say good-bye.
func TestSessionOfAKilledProcess(t *testing.T) {
	t.Parallel()
	o := options()
	s := openWith(t, o)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+o.Endpoints[0]+" "+o.Prefix)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_ = cmd.Process.Kill()
	killed := time.Now()
	_ = cmd.Wait()
	if line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	hints, err := s.Watch(deadline(t), "")
	if err != nil {
		t.Fatal(err)
	}
	<-hints
	for gone := false; !gone; { // it may have vanished before the watch began, on a busy machine
		_, err := s.Get(deadline(t), "s")
		if gone = errors.Is(err, store.ErrNotFound); !gone {
			wantHint(t, deadline(t), hints)
		}
	}
	t.Logf("the document of a lease of %v was gone %v after kill -9", holderTTL, time.Since(killed).Round(time.Millisecond))
}

// TestLeaderKilled kills the leader of three members with SIGKILL, again and again, while clients write. The clients' story must fit one order, and
// nothing that was acknowledged may be missing.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[*Store] {
		c, err := server.StartCluster(deadline(t), server.Options{Dir: t.TempDir(), Nodes: 3, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Stop)
		o := options()
		o.Endpoints = c.Endpoints()
		r := reach(o)
		r.Crash = func(t *testing.T) {
			leader, err := c.Leader(deadline(t))
			if err != nil {
				t.Fatal(err)
			}
			c.Kill(leader)
			if _, err := c.Leader(deadline(t)); err != nil { // the two others go on meanwhile
				t.Fatal(err)
			}
			if err := c.Restart(deadline(t), leader); err != nil {
				t.Fatal(err)
			}
		}
		return r
	})
}
