package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/publish"
)

func TestFirstRunPrintsSamplesAndLeavesInOrder(t *testing.T) {
	p := newPlace(t)
	p.task("beat.yaml", "type: noop\nevery: 200ms\nconfig: {emit: true}\n")
	m := p.start("a", "tasks")
	await(t, "two samples are printed", func() bool { return strings.Count(m.Stdout.String(), "\n") >= 2 })
	for line := range strings.Lines(m.Stdout.String()) {
		var s publish.Sample
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Name != "noop.rounds" || s.Tags["member"] != "a" ||
			s.Tags["task"] != "beat" {
			t.Errorf("stdout has %q (%v), want samples of noop alone", line, err)
		}
	}
	m.signal(syscall.SIGTERM)
	if code := m.end(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"store file:store (new) · 1 task from tasks", "joined as the first member in",
		"samples on stdout · status: rota status --store file:store",
		"leaving: 1 task", "a left gracefully",
	} {
		if !strings.Contains(m.Stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, m.Stderr.String())
		}
	}
	out, _, code := p.rota("status", "--store", "file:store")
	if code != exitOK || !strings.Contains(out, "no member is running") {
		t.Errorf("exit %d, %q; want to be told that nobody runs", code, out)
	}
}

func TestAPIOfAMember(t *testing.T) {
	p := newPlace(t)
	p.noops(2)
	m := p.start("a", "--listen", "127.0.0.1:0", "tasks")
	address := ""
	await(t, "it says where its API is", func() bool {
		_, after, ok := strings.Cut(m.Stderr.String(), "API ")
		base, _, ok2 := strings.Cut(after, "\n")
		address = base
		return ok && ok2
	})
	get := func(path string) string {
		res, err := http.Get(address + path)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			return err.Error()
		}
		return res.Status + "\n" + string(b)
	}
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": `{"ready":true,"reasons":[],"member":"a","store":"file:/`,
		"/v1/status": `"running":2`, "/v1/members": `"address":"127.0.0.1:`,
		"/v1/tasks": `"task":"t00"`, "/v1/journal": "member-joined",
		"/metrics": `rota_member_joined{rota_member="a"} 1`, "/v1/nope": "404",
	} {
		await(t, path+" tells", func() bool { return strings.Contains(get(path), want) })
	}
}

// owners is who has each task, and the largest token of them; nil while one of them does not run.
func (p *place) owners(total int) (owners map[string]string, newest uint64) {
	p.t.Helper()
	tasks := p.tasks()
	owners = make(map[string]string, len(tasks))
	for _, t := range tasks {
		if t.State == view.Running {
			owners[t.Task] = t.Owner
		}
		newest = max(newest, t.Token)
	}
	if len(owners) != total {
		return nil, 0
	}
	return owners, newest
}

// moves counts what the journal has of a kind, and finds the longest gap in it. A move counts if its token is larger
// than one before: a member on a slow machine may journal an earlier one late.
func (p *place) moves(kind journal.Kind, since time.Time, before uint64) (n int, longest time.Duration) {
	p.t.Helper()
	out, stderr, code := p.rota("events", "--store", "file:store", "-o", "json", "--since",
		(time.Since(since) + 2*time.Second).Round(time.Second).String(), "--limit", "100000")
	var records []journal.Record
	if err := json.Unmarshal([]byte(out), &records); err != nil || code != exitOK {
		p.t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	for _, r := range records {
		if r.Kind != kind || r.AtMS < since.UnixMilli() || strings.HasPrefix(r.Partition, "rota.") ||
			kind == journal.Moved && r.Token <= before {
			continue
		}
		n++
		if r.GapMS != nil {
			longest = max(longest, time.Duration(*r.GapMS)*time.Millisecond)
		}
	}
	return n, longest
}

// TestRollingRestart: three processes with 2,000 tasks are restarted, one after the other. With --hold nothing moves;
// without it the fewest tasks that can: those of a member that leaves, and as many back.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const total = 2000
	for _, hold := range []bool{true, false} {
		t.Run(fmt.Sprintf("hold=%t", hold), func(t *testing.T) {
			p := newPlace(t)
			var keys []string
			for i := range total {
				keys = append(keys, fmt.Sprintf("k%04d", i))
			}
			p.task("all.yaml", "type: noop\nevery: 10s\nspread: partitioned\npartitions: ["+strings.Join(keys, ", ")+
				"]\n")
			args := []string{"tasks"}
			if hold {
				args = append(args, "--hold", "10m")
			}
			names := []string{"a", "b", "c"}
			members := make(map[string]*running)
			for _, name := range names {
				members[name] = p.start(name, args...)
			}
			settled := func(what string) (owners map[string]string, newest uint64) {
				t.Helper()
				await(t, what, func() bool {
					owners, newest = p.owners(total)
					count := make(map[string]int)
					for _, m := range owners {
						count[m]++
					}
					return len(count) == len(names) && count["a"] >= total/3 && count["b"] >= total/3 &&
						count["c"] >= total/3
				})
				return owners, newest
			}
			before, token := settled("the tasks are shared")
			began := time.Now()
			for _, name := range names {
				members[name].signal(syscall.SIGTERM)
				if code := members[name].end(); code != exitOK {
					t.Fatalf("%s: exit %d: %s", name, code, members[name].Stderr.String())
				}
				members[name] = p.start(name, args...)
				settled(name + " has its share again")
			}
			after, _ := settled("the tasks are shared at the end")
			took := time.Since(began)
			kind := journal.Moved
			if hold {
				kind = journal.Resumed
			}
			wanted := total // with --hold each task is resumed once
			if !hold {
				wanted = 2 * total // each leaves its member once, and another one comes
			}
			n, longest := 0, time.Duration(0)
			await(t, "the journal has it all",
				func() bool { n, longest = p.moves(kind, began, token); return n >= wanted-3*len(names) })
			moved, _ := p.moves(journal.Moved, began, token)
			t.Logf("%d tasks, three restarts in %s: %d moves, longest gap %s", total, took.Round(time.Second), moved,
				longest)
			if hold && (moved != 0 || !maps.Equal(before, after)) {
				t.Errorf("%d tasks moved with --hold, though their members came back", moved)
			}
			if !hold && moved > wanted+3*len(names) {
				t.Errorf("%d moves, %d are the fewest", moved, wanted)
			}
			if longest == 0 || longest > took {
				t.Errorf("the longest gap is %s of %s", longest, took)
			}
		})
	}
}

// TestTheReaderGoesAway: rota run | head leaves gracefully when head has seen enough.
func TestTheReaderGoesAway(t *testing.T) {
	p := newPlace(t)
	p.task("t.yaml", "type: noop\nevery: 50ms\nconfig: {emit: true}\n")
	read, write, err := os.Pipe()
	must.Succeed(t, err)
	cmd := p.command("run", "--store", p.store, "--member", "a", "--listen", "none", "--ttl", "30s", "tasks")
	cmd.Stdout = write
	m := &running{p, processtest.Start(p.t, "a", cmd)}
	must.Succeed(t, write.Close())
	must.Succeed(t, must.Err(io.ReadFull(read, make([]byte, 10))))
	must.Succeed(t, read.Close())
	if code := m.end(); code != exitOK || !strings.Contains(m.Stderr.String(), "a left gracefully") {
		t.Errorf("exit %d: %s", code, m.Stderr.String())
	}
}
