package file_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// Tests that need several processes start the test binary again; this variable says what the process is for.
const helperVariable = "ROTA_FILE_TEST_HELPER"

// helpers are what such a process can do. It gets the store's directory as its argument, talks on stdout, and ends with
// stdin.
var helpers = map[string]func(ctx context.Context, dir string, out io.Writer) error{
	"append":     helpAppend,
	"append ten": helpAppendTen,
	"session":    helpSession,
	"open":       helpOpen,
}

func runHelper(run func(ctx context.Context, dir string, out io.Writer) error) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the test, however that ends
		cancel()
	}()
	if err := run(ctx, os.Args[1], os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func start(t testing.TB, helper, dir string) *rig.Process {
	t.Helper()
	return rig.Again(t, helperVariable, helper, dir)
}

// helpAppend appends without end, and prints the index of each record that was acknowledged.
func helpAppend(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	writer := rand.Text()
	for i := 0; ctx.Err() == nil; i++ {
		index, err := s.Append(ctx, fmt.Appendf(nil, "%s %d", writer, i))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d %s %d\n", index, writer, i)
	}
	return nil
}

// helpSession puts a document with a session, starts a child that outlives it, and prints the child's process id.
func helpSession(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	session, err := s.OpenSession(ctx, time.Minute)
	if err != nil {
		return err
	}
	if _, err := session.Put(ctx, store.Doc{Key: "s/1", Value: []byte("here")}); err != nil {
		return err
	}
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Fprintln(out, child.Process.Pid)
	<-ctx.Done()
	return nil
}

// helpAppendTen appends ten records, prints the last index and waits to be killed, so that the journal stays as it is.
func helpAppendTen(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	var index uint64
	for range 10 {
		if index, err = s.Append(ctx, make([]byte, 3000)); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, index)
	<-ctx.Done()
	return nil
}

// helpOpen opens the store, for tests of what another user may do, and prints the error.
func helpOpen(ctx context.Context, dir string, out io.Writer) error {
	for _, o := range []file.Options{{}, {ReadOnly: true}, {AllowShared: true}, {AllowShared: true, ReadOnly: true}} {
		s, err := file.Open(ctx, dir, o)
		fmt.Fprintln(out, err)
		if err == nil {
			s.Close()
		}
	}
	return nil
}
