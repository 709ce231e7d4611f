package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server"
)

// onServer starts a server for one test.
func onServer(t *testing.T, kind string) *server.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), processtest.Patience)
	defer cancel()
	s, err := server.Spawn(ctx, kind, t.TempDir())
	if errors.Is(err, server.ErrMissing) {
		t.Skipf("NOT TESTED: %v", err)
	}
	must.Succeed(t, err)
	t.Cleanup(s.Stop)
	return s
}

// queued are the files of which a worker has written so in its queue, each as often as it did.
func queued(t *testing.T, out, member, verb string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, member+".queue"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	files := map[string]int{}
	for l := range bytes.Lines(text) {
		var line struct{ Verb, File string }
		if json.Unmarshal(l, &line) == nil && line.Verb == verb { // else it is half a line
			files[line.File]++
		}
	}
	return files
}

// The loop of the source document elasticsearch-cluster-state on Elasticsearch: a worker is killed, its files are put
// back and done by others; then the leader is killed, and another process leads to the end.
func TestLoopOnElasticsearch(t *testing.T) {
	t.Parallel()
	const files = 40
	s := onServer(t, "elastic")
	in, out := t.TempDir(), t.TempDir()
	for i := range files {
		must.Succeed(t, os.WriteFile(filepath.Join(in, fmt.Sprintf("%02d", i)), fmt.Appendf(nil, "file %d", i), 0o600))
	}
	up := map[string]*process.Process{}
	for _, name := range []string{"a", "b", "c", "d"} {
		up[name] = processtest.Start(t, name, exec.Command(filepath.Join(programs, "loop"), "-member", name,
			"-store", s.URL+"/loop", "-in", in, "-out", out, "-ttl", "10s", "-pause", "2s"))
	}
	leader, victim, lost := "", "", ""
	processtest.Await(t, "one leads", func() bool {
		for name, p := range up {
			if strings.Contains(p.Stdout.String(), fmt.Sprintf("leads %d files", files)) {
				leader = name
			}
		}
		return leader != ""
	})
	processtest.Await(t, "another one works on a file", func() bool {
		for name := range up {
			if name == leader {
				continue
			}
			done := queued(t, out, name, "event")
			for file := range queued(t, out, name, "begin") {
				if done[file] == 0 {
					victim, lost = name, file
				}
			}
		}
		return victim != ""
	})
	must.Succeed(t, up[victim].Kill())
	said := func(format string, args ...any) func() bool {
		return func() bool { return strings.Contains(up[leader].Stdout.String(), fmt.Sprintf(format, args...)) }
	}
	if queued(t, out, victim, "event")[lost] > 0 {
		t.Fatalf("%s had done %s before it was killed: the machine is too slow for this test", victim, lost)
	}
	processtest.Await(t, "its file is put back", said("puts back %q", lost))
	processtest.Await(t, "another one has done it", said("done %q", lost))
	must.Succeed(t, up[leader].Kill())
	for name, p := range up {
		if name == leader || name == victim {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), processtest.Patience)
		code, err := p.Wait(ctx)
		cancel()
		if err != nil || code != 0 {
			t.Errorf("%s: exit %d, %v", name, code, err)
		}
	}
	times := map[string]int{}
	for name := range up {
		for file, n := range queued(t, out, name, "event") {
			times[file] += n
		}
	}
	twice := 0
	for i := range files {
		if n := times[fmt.Sprintf("%02d", i)]; n == 0 {
			t.Errorf("file %02d is in no queue", i)
		} else if n > 1 {
			twice++
		}
	}
	if queued(t, out, victim, "event")[lost] > 0 || times[lost] == 0 {
		t.Errorf("%s is in the queues %d times, of which %s wrote %d", lost, times[lost], victim,
			queued(t, out, victim, "event")[lost])
	}
	t.Logf("%d files; the worker %s and the leader %s were killed; %d files are in two queues", files, victim, leader,
		twice)
}
