package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// running is what runs, by partition, with the token.
type running struct {
	mu  sync.Mutex
	now map[cluster.PartitionID]cluster.Token
}

// types has the type "noted", whose runs are in it.
func (r *running) types() work.Types {
	r.now = make(map[cluster.PartitionID]cluster.Token)
	return work.Types{"noted": {Name: "noted", New: func(work.Definition) (work.Runner, error) {
		return work.RunnerFunc(func(ctx context.Context, g *work.Grant) error {
			r.set(g.Partition, g.Token)
			<-ctx.Done()
			r.set(g.Partition, 0)
			return nil
		}), nil
	}}}
}

func (r *running) set(p cluster.PartitionID, t cluster.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now[p] = t; t == 0 {
		delete(r.now, p)
	}
}

func (r *running) token(p cluster.PartitionID) cluster.Token {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now[p]
}

func openKept(t *testing.T, path string, m cluster.MemberID) *Kept {
	t.Helper()
	k := must.Get(OpenKept(path, m))(t)
	return k
}

// TestAStartWhileTheStoreIsAway: what keeps on store loss runs as it was assigned before the process was killed, and
// nothing else; when the store answers the member joins, and all runs under new grants.
func TestAStartWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) { virtual.Test(t, func(t *testing.T) { startsWithoutStore(t, p) }) })
	}
}

func startsWithoutStore(t *testing.T, p protocol.Protocol) {
	dir, server := t.TempDir(), memory.New()
	path := filepath.Join(dir, "a.json")
	var first running
	b := start(t, server, "a", func(c *Config) {
		c.Protocol, c.Types, c.Kept = p, first.types(), openKept(t, path, "a")
	})
	b.submit("on", cluster.TaskSpec{Type: "noted", Definition: []byte(`{"on_store_loss":"keep"}`)})
	b.submit("off", cluster.TaskSpec{Type: "noted"})
	on, off := cluster.PartitionID("on"), cluster.PartitionID("off")
	await(t, "both run", func() bool { return first.token(on) != 0 && first.token(off) != 0 })
	old := first.token(on)
	var file []byte
	await(t, "the file has one of them", func() bool {
		file, _ = os.ReadFile(path)
		return strings.Contains(string(file), `"Partition": "on"`) &&
			!strings.Contains(string(file), `"Partition": "off"`)
	})
	b.leave()
	if k := openKept(t, path, "a"); k.Tasks() != 0 {
		t.Errorf("after leaving in order %d tasks are kept", k.Tasks())
	}
	if err := os.WriteFile(path, file, 0o600); err != nil { // as a process that was killed would have left it
		t.Fatal(err)
	}

	var second running
	f := faults.NewFaulty(server.Open(), nil)
	defer f.Close()
	f.Away(true)
	records := journal.NewMemory(100)
	n, err := New(Config{
		Member: "a", Store: f, Protocol: p, TTL: longTTL, Clock: protocol.NewProcessClock(), Types: second.types(),
		Kept: openKept(t, path, "a"), Journal: records, WitnessPath: filepath.Join(dir, "witness"),
	})
	must.Succeed(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, nil) }()
	await(t, "the kept one runs", func() bool { return second.token(on) == old })
	time.Sleep(time.Minute) // waits: in virtual time
	if got := witnessed(t, filepath.Join(dir, "witness"), on); got != "start" {
		t.Errorf("the witness saw %q", got)
	}
	if second.token(off) != 0 {
		t.Error("a task that stops on store loss runs")
	}
	if s := n.Status(); s.Member.StoreError == "" || s.Member.Joined {
		t.Errorf("status without a store: %+v", s.Member)
	}
	f.Away(false)
	await(t, "both run under new grants", func() bool { return second.token(on) > old && second.token(off) != 0 })
	await(t, "the journal says so", func() bool {
		all, err := records.Read(t.Context(), journal.Query{})
		return err == nil && slices.ContainsFunc(all,
			func(r journal.Record) bool { return strings.Contains(r.Message, "until then 1 task") })
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestKeptIsReadAsItWasWritten: nothing of a grant is lost.
func TestKeptIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	spec := cluster.TaskSpec{
		Name: "t", Type: "noted", Weight: 3, Selector: []cluster.Label{{Key: "k", Value: "v"}},
		Definition: []byte(`{"on_store_loss":"keep"}`), Min: 1, Max: 9,
	}
	a := protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{
		Partition: "j/t:1", Token: 7, Handover: cluster.HandoverFast, Attempt: 2, Parents: []string{"p"}, ListedBy: "l",
		Input: []byte{0, 255}, Index: 1, Count: 2,
		Spec: &spec, SpecIndex: 5, From: "b", Cause: "c",
	}}}
	k := openKept(t, path, "a")
	must.Succeed(t, k.write(a))
	if got := openKept(t, path, "a").grants; !reflect.DeepEqual(got, a.Grants) {
		t.Errorf("read %+v\nwant %+v", got, a.Grants)
	}
	must.Succeed(t, os.Remove(path))
	a.Version++
	must.Succeed(t, k.write(a))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is kept is as before, and the file is written again: %v", err)
	}
}

// TestKeptSaysWhatIsWrong: a file that cannot be used is refused, with its path.
func TestKeptSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]any{ // order-free: each is a file of its own
		"is damaged":             "no object",
		"format 2":               keptFile{Format: 2, Member: "a"},
		`is of the member "b"`:   keptFile{Format: 1, Member: "b"},
		"a task has no spec":     keptFile{Format: 1, Member: "a", Grants: []*protocol.Grant{{Partition: "p"}}},
		"read what the member k": nil,
	} {
		path := filepath.Join(t.TempDir(), "a.json")
		if f == nil {
			must.Succeed(t, os.Mkdir(path, 0o700))
		} else {
			data, err := json.Marshal(f)
			must.Succeed(t, cmp.Or(err, os.WriteFile(path, data, 0o600)))
		}
		if _, err := OpenKept(path, "a"); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// linesOf are those of a log so far.
func linesOf(log *output.Text) []string {
	return strings.SplitAfter(strings.TrimSpace(log.String()), "\n")
}

// TestAStoreThatRefusesWritesIsAway: a full disk answers reads. The store is away from the first write that fails to
// the first one that is acknowledged, without a moment in between; that is one line of the log and one record each, and
// the log says little meanwhile.
func TestAStoreThatRefusesWritesIsAway(t *testing.T) {
	for _, p := range []protocol.Protocol{replica.Protocol{}, leader.Protocol{}, lease.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				const outage, most = 5 * time.Minute, 20 // lines of the log
				var full atomic.Bool
				log := &output.Text{}
				s := memory.New()
				b := start(t, s, "b", func(c *Config) {
					inner := s.Open()
					t.Cleanup(func() { inner.Close() })
					c.Protocol, c.Logger = p, slog.New(slog.NewTextHandler(log, nil))
					c.Store = faults.NewFaulty(inner, func(call faults.Call) faults.Outcome {
						if full.Load() && slices.Contains([]string{"put", "delete", "append", "save", "trim", "session",
							"sessionput"}, call.Op) {
							return faults.Refused
						}
						return faults.Pass
					})
				})
				b.submit("x", cluster.TaskSpec{Type: "stay"})
				runs := func() bool { return b.Status().Work.Counts.Running == 1 }
				up := func() bool { return b.Status().Member.StoreError == "" }
				await(t, "it runs", func() bool { return runs() && up() })
				before := len(linesOf(log))
				full.Store(true)
				await(t, "the store is away", func() bool { return !up() })
				for end := time.Now().Add(outage); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // waits: in virtual time
					if up() {
						t.Fatalf("it is up %v before it takes a write", time.Until(end))
					}
				}
				said := linesOf(log)[before:]
				full.Store(false)
				await(t, "it runs again", func() bool { return runs() && up() })
				await(t, "the outage is journaled", func() bool { return len(b.records(journal.StoreBack)) > 0 })
				if lost, back := len(b.records(journal.StoreLost)), len(b.records(journal.StoreBack)); lost != 1 ||
					back != 1 {
					t.Errorf("one outage is %d store-lost and %d store-back", lost, back)
				}
				if len(said) > most {
					t.Errorf("%d lines in %v, want %d at most:\n%s", len(said), outage, most,
						strings.Join(said[:min(len(said), 40)], ""))
				}
			})
		})
	}
}
