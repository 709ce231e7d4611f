package etcd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

// holderVariable makes this program a process that holds a session, on the server and below the prefix that it names.
const holderVariable = "ROTA_ETCD_TEST_HOLDER"

// holderTTL is longer than a busy machine pauses between two steps of the holder.
const holderTTL = 6 * time.Second

// hold puts a document with a session, says so, and waits for the end of its input.
func hold(where string) error {
	endpoint, prefix, _ := strings.Cut(where, " ")
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	s, err := etcd.Open(ctx, etcd.Options{Endpoints: []string{endpoint}, Prefix: prefix})
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

// TestSessionOfAKilledProcess kills the owner of a session, which cannot close it.
func TestSessionOfAKilledProcess(t *testing.T) {
	t.Parallel()
	o := options()
	s := openWith(t, o)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+o.Endpoints[0]+" "+o.Prefix)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must.Succeed(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_ = cmd.Process.Kill()
	killed := time.Now()
	_ = cmd.Wait()
	if line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	hints, err := s.Watch(rig.Deadline(t), "")
	must.Succeed(t, err)
	<-hints
	for gone := false; !gone; { // it may have vanished before the watch began, on a busy machine
		_, err := s.Get(rig.Deadline(t), "s")
		if gone = errors.Is(err, store.ErrNotFound); !gone {
			rig.Hinted(t, hints)
		}
	}
	t.Logf("the document of a lease of %v was gone %v after kill -9", holderTTL, time.Since(killed).Round(time.Millisecond))
}
