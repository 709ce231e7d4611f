package file_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/file"
)

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
