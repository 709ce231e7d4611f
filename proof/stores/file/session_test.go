package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	processes "github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// sessionIn starts a process that holds a session, with a child that will outlive it.
func sessionIn(t *testing.T, dir string) *rig.Process {
	t.Helper()
	p := start(t, "session", dir)
	line, ok := p.Line()
	child, err := strconv.Atoi(line)
	if !ok || err != nil {
		t.Fatalf("helper printed %q, %v; want the process id of its child", line, err)
	}
	t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	return p
}

func TestSessionEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s, ctx := openIn(t, dir, file.Options{}), rig.Deadline(t)
	for range 3 {
		p := sessionIn(t, dir)
		if d, err := s.Get(ctx, "s/1"); err != nil || string(d.Value) != "here" {
			t.Fatalf("get: %q, %v", d.Value, err)
		}
		watch, cancel := context.WithCancel(ctx)
		hints := must.Get(s.Watch(watch, "s/"))(t)
		<-hints // the one from the start
		p.Kill()
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
	rig.Eventually(t, "the rows of dead sessions are removed",
		func() bool { return query[int](t, dir, `SELECT count(*) FROM docs`) == 0 })
	rig.Eventually(t, "the lock files of dead sessions are removed",
		func() bool { return len(sessionFiles(t, dir)) == 0 })
}

func TestSessionOutlivesSuspension(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s, ctx := openIn(t, dir, file.Options{}), rig.Deadline(t)
	p := sessionIn(t, dir)
	must.Succeed(t, processes.StopOutside(ctx, p.Cmd.Process.Pid, filepath.Join(dir, queueName),
		filepath.Join(dir, turnName)))
	must.Succeed(t, must.Err(s.Append(ctx, []byte("others go on"))))
	must.Succeed(t, must.Err(s.Get(ctx, "s/1")))
	p.Kill()
	rig.Eventually(t, "the document goes with the process", func() bool {
		_, err := s.Get(ctx, "s/1")
		return errors.Is(err, store.ErrNotFound)
	})
}

func TestSessionsThatEndedWhileNobodyWasThere(t *testing.T) {
	t.Parallel()
	dir := place(t)
	sessionIn(t, dir).Kill()
	draft := filepath.Join(dir, sessionsDir, "x.new")
	must.Succeed(t, os.WriteFile(draft, nil, 0o600))
	must.Succeed(t, os.Chtimes(draft, time.Time{}, time.Now().Add(-2*time.Hour)))
	if n := len(sessionFiles(t, dir)); n != 2 {
		t.Fatalf("%d files after the kill, want a lock and a draft", n)
	}
	s := openIn(t, dir, file.Options{})
	if docs, err := s.List(rig.Deadline(t), "s/"); err != nil || len(docs) != 0 {
		t.Fatalf("list: %v, %v; want nothing", docs, err)
	}
	rig.Eventually(t, "the lock file is removed", func() bool { return len(sessionFiles(t, dir)) == 0 })
}

// acknowledged reads the lines of a helper until the process ends.
func acknowledged(p *rig.Process, into map[string]bool, count *atomic.Int64) {
	for {
		line, ok := p.Line()
		if !ok {
			return
		}
		into[line] = true
		count.Add(1)
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

func TestManyProcessesAppend(t *testing.T) {
	t.Parallel()
	const processes, least = 8, 25
	dir := place(t)
	seen := make([]map[string]bool, processes)
	counts := make([]atomic.Int64, processes)
	var all []*rig.Process
	var readers sync.WaitGroup
	for i := range processes {
		seen[i] = map[string]bool{}
		p := start(t, "append", dir)
		all = append(all, p)
		readers.Go(func() { acknowledged(p, seen[i], &counts[i]) })
	}
	rig.Eventually(t, "each process has appended", func() bool {
		for i := range counts {
			if counts[i].Load() < least {
				return false
			}
		}
		return true
	})
	for _, p := range all[:processes/2] {
		p.Stdin.Close() // these end by themselves
	}
	for _, p := range all[processes/2:] {
		p.Cmd.Process.Kill()
	}
	readers.Wait()
	got := records(t, openIn(t, dir, file.Options{}))
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
