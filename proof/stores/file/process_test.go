package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/standstill"
	"github.com/rota-run/rota/store"
)

// helpAppend appends without end, and prints the index of each record that was acknowledged.
func helpAppend(ctx context.Context, dir string, out io.Writer) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	writer := unique()
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
	s, err := Open(ctx, dir, Options{})
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

// acknowledged reads the lines of a helper until the process ends.
func (p *process) acknowledged(into map[string]bool, count *atomic.Int64) {
	for {
		line, ok := p.line()
		if !ok {
			return
		}
		into[line] = true
		count.Add(1)
	}
}

// records are the log's records in the form in which helpers print them.
func records(t *testing.T, s *Store) []string {
	t.Helper()
	var all []string
	for after := uint64(0); ; {
		page, err := s.Read(deadline(t), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			all = append(all, fmt.Sprintf("%d %s", r.Index, r.Data))
			after = r.Index
		}
		if after == page.Head {
			return all
		}
	}
}

// wantOrder checks that each writer's records are numbered from 0 without a gap.
func wantOrder(t *testing.T, records []string) {
	t.Helper()
	next := map[string]int{}
	for _, r := range records {
		fields := strings.Fields(r)
		if fields[2] != strconv.Itoa(next[fields[1]]) {
			t.Fatalf("record %q: want number %d of this writer", r, next[fields[1]])
		}
		next[fields[1]]++
	}
}

// eventually asks again and again, until patience ends.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ask() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(time.Millisecond) // waits: other processes send no signals; the end is bounded by patience
	}
}

func TestManyProcessesAppend(t *testing.T) {
	t.Parallel()
	const processes, least = 8, 25
	dir := t.TempDir()
	seen := make([]map[string]bool, processes)
	counts := make([]atomic.Int64, processes)
	var all []*process
	var readers sync.WaitGroup
	for i := range processes {
		seen[i] = map[string]bool{}
		p := start(t, "append", dir)
		all = append(all, p)
		readers.Go(func() { p.acknowledged(seen[i], &counts[i]) })
	}
	eventually(t, "each process has appended", func() bool {
		for i := range counts {
			if counts[i].Load() < least {
				return false
			}
		}
		return true
	})
	for _, p := range all[:processes/2] {
		p.stdin.Close() // these end by themselves
	}
	for _, p := range all[processes/2:] {
		p.cmd.Process.Kill()
	}
	readers.Wait()
	got := records(t, openIn(t, dir, Options{}))
	wantOrder(t, got)
	fewest, most := counts[0].Load(), counts[0].Load()
	for i := range counts {
		fewest, most = min(fewest, counts[i].Load()), max(most, counts[i].Load())
		for line := range seen[i] {
			if !slices.Contains(got, line) {
				t.Errorf("process %d: acknowledged record %q is not in the log", i, line)
			}
		}
	}
	t.Logf("%d records; one process wrote from %d to %d", len(got), fewest, most)
}

func TestKilledWhileAppending(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 3 {
		p := start(t, "append", dir)
		acknowledged := map[string]bool{}
		for range 40 {
			line, ok := p.line()
			if !ok {
				t.Fatal("the helper ended by itself")
			}
			acknowledged[line] = true
		}
		p.cmd.Process.Kill()
		var rest atomic.Int64
		p.acknowledged(acknowledged, &rest)
		s := openIn(t, dir, Options{})
		got := records(t, s)
		wantOrder(t, got)
		for line := range acknowledged {
			if !slices.Contains(got, line) {
				t.Fatalf("round %d: acknowledged record %q is not in the log", round, line)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// sessionIn starts a process that holds a session, with a child that will outlive it.
func sessionIn(t *testing.T, dir string) *process {
	t.Helper()
	p := start(t, "session", dir)
	line, ok := p.line()
	child, err := strconv.Atoi(line)
	if !ok || err != nil {
		t.Fatalf("helper printed %q, %v; want the process id of its child", line, err)
	}
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	return p
}

func TestSessionEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, ctx := openIn(t, dir, Options{}), deadline(t)
	for range 3 {
		p := sessionIn(t, dir)
		if d, err := s.Get(ctx, "s/1"); err != nil || string(d.Value) != "here" {
			t.Fatalf("get: %q, %v", d.Value, err)
		}
		watch, cancel := context.WithCancel(ctx)
		hints, err := s.Watch(watch, "s/")
		if err != nil {
			t.Fatal(err)
		}
		<-hints // the one from the start
		p.kill()
		killed := time.Now()
		for gone := false; !gone; {
			select {
			case <-hints:
			case <-ctx.Done():
				t.Fatal("no hint after the process was killed")
			}
			_, err := s.Get(ctx, "s/1")
			gone = errors.Is(err, store.ErrNotFound)
		}
		t.Logf("seen %v after kill -9", time.Since(killed).Round(time.Millisecond))
		cancel()
	}
	eventually(t, "the rows of dead sessions are removed", func() bool { return count(t, s, `SELECT count(*) FROM docs`) == 0 })
	eventually(t, "the lock files of dead sessions are removed", func() bool { return len(sessionFiles(t, dir)) == 0 })
}

func TestSessionOutlivesSuspension(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, ctx := openIn(t, dir, Options{}), deadline(t)
	p := sessionIn(t, dir)
	if err := standstill.StopOutside(ctx, p.cmd.Process.Pid, filepath.Join(dir, queueName), filepath.Join(dir, turnName)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, []byte("others go on")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "s/1"); err != nil {
		t.Fatalf("document of a suspended process: %v", err)
	}
	p.kill()
	eventually(t, "the document goes with the process", func() bool {
		_, err := s.Get(ctx, "s/1")
		return errors.Is(err, store.ErrNotFound)
	})
}

func TestSessionsThatEndedWhileNobodyWasThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sessionIn(t, dir).kill()
	draft := filepath.Join(dir, sessionsDir, "x.new")
	if err := os.WriteFile(draft, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(draft, time.Time{}, time.Now().Add(-2*draftAge)); err != nil {
		t.Fatal(err)
	}
	if n := len(sessionFiles(t, dir)); n != 2 {
		t.Fatalf("%d files after the kill, want a lock and a draft", n)
	}
	s := openIn(t, dir, Options{})
	if docs, err := s.List(deadline(t), "s/"); err != nil || len(docs) != 0 {
		t.Fatalf("list: %v, %v; want nothing", docs, err)
	}
	eventually(t, "the lock file is removed", func() bool { return len(sessionFiles(t, dir)) == 0 })
}
