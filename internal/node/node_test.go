package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is one node that runs, and its end.
type bundle struct {
	*Node
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// patience bounds waits, in virtual time.
const patience = 60 * time.Second

// longTTL passes in no test but those that wait for it.
const longTTL = 10 * time.Second

func start(t *testing.T, s *memory.Server, name string, change func(*Config)) *bundle {
	t.Helper()
	st := s.Open()
	joined := make(chan struct{}, 1)
	c := Config{Member: cluster.MemberID(name), Store: st, Protocol: replica.Protocol{}, TTL: longTTL,
		Clock: protocol.NewProcessClock(), Types: types(), Events: Events{
			Joined: func(cluster.Incarnation, time.Duration) {
				select {
				case joined <- struct{}{}:
				default: // again
				}
			},
		}}
	if change != nil {
		change(&c)
	}
	n := must.Get(New(c))(t)
	ctx, stop := context.WithCancel(context.Background())
	b := &bundle{Node: n, t: t, stop: stop, done: make(chan error, 1)}
	go func() { b.done <- n.Run(ctx, nil) }()
	t.Cleanup(func() {
		b.leave()
		st.Close()
	})
	select {
	case <-joined:
	case err := <-b.done:
		t.Fatalf("%s ended: %v", name, err)
	case <-time.After(patience):
		t.Fatalf("%s did not join", name)
	}
	return b
}

// leave ends the node and waits for that, once.
func (b *bundle) leave() {
	b.stop()
	select {
	case err, first := <-b.done:
		if first && err != nil {
			b.t.Errorf("%s: %v", b.Member(), err)
		}
		if first {
			close(b.done)
		}
	case <-time.After(patience):
		b.t.Errorf("%s did not end", b.Member())
	}
}

// types are three: one that works until it is stopped, one that is done at once, one that fails.
func types() work.Types {
	return work.Types{
		"stay": {Name: "stay", New: func(work.Definition) (work.Runner, error) {
			return work.RunnerFunc(func(ctx context.Context, _ *work.Grant) error { <-ctx.Done(); return nil }), nil
		}},
		"end": {Name: "end", New: func(work.Definition) (work.Runner, error) {
			return work.RunnerFunc(func(context.Context, *work.Grant) error { return nil }), nil
		}},
		"fail": {Name: "fail", New: func(work.Definition) (work.Runner, error) {
			return work.RunnerFunc(func(context.Context, *work.Grant) error { return errors.New("no luck") }), nil
		}},
	}
}

func (b *bundle) submit(job string, t cluster.TaskSpec) {
	b.t.Helper()
	if t.Definition == nil {
		t.Definition = []byte(`{"retry":{"min_ms":1,"max_ms":1}}`)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := b.Propose(ctx,
		cluster.SubmitJob{Job: cluster.JobID(job), Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{t}}})
	if err != nil || !res[0].Accepted {
		b.t.Fatalf("submit %s: %v %v", job, res, err)
	}
}

// await looks every 5 ms of virtual time, when all that happened before has had its effects.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) { // waits: in a bubble, where time passes when nothing else can happen
		synctest.Wait()
		if holds() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %s and it is not so: %s", patience, what)
		}
	}
}

func (b *bundle) records(kind journal.Kind) []journal.Record {
	b.t.Helper()
	all, err := b.Journal().Read(context.Background(), journal.Query{})
	must.Succeed(b.t, err)
	return slices.DeleteFunc(all, func(r journal.Record) bool { return r.Kind != kind })
}

func TestWitnessFileHasStartAndStopInOrder(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "witness")
		a := start(t, memory.New(), "a", func(c *Config) { c.WitnessPath = path })
		a.submit("x", cluster.TaskSpec{Type: "stay"})
		await(t, "it runs", func() bool { return a.Status().Work.Counts.Running == 1 })
		a.leave()
		if got := witnessed(t, path, "x"); got != "join start stop" {
			t.Errorf("got %q", got)
		}
	})
}

// witnessed are the events of the file of member a, all but the joins of one partition.
func witnessed(t *testing.T, path string, of cluster.PartitionID) string {
	t.Helper()
	var events []string
	var at int64
	for line := range bytes.Lines(must.Get(os.ReadFile(path))(t)) {
		var l WitnessLine
		must.Succeed(t, json.Unmarshal(line, &l))
		if l.AtNS < at || l.Member != "a" || l.Event != "join" && (l.Partition != string(of) || l.Token == 0) {
			t.Errorf("bad line %+v", l)
		}
		at = l.AtNS
		events = append(events, l.Event)
	}
	return strings.Join(events, " ")
}

func TestNewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	st := memory.New().Open()
	for want, c := range map[string]Config{
		"no store":        {Member: "a"},
		"no protocol":     {Member: "a", Store: st},
		"name":            {Store: st, Protocol: replica.Protocol{}},
		"make supervisor": {Member: "a", Store: st, Protocol: replica.Protocol{}, Types: work.Types{"x": {Name: "x"}}},
		"witness": {Member: "a", Store: st, Protocol: replica.Protocol{},
			WitnessPath: filepath.Join(t.TempDir(), "no", "such", "directory")},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %q", err, want)
		}
	}
}
