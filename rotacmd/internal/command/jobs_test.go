package command

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/tasks"
)

// A file that is too large to be a job is not read to its end, and the size of the whole is said.
func TestALargeJob(t *testing.T) {
	p := newPlace(t)
	p.write("large.yaml", "type: noop\n#"+strings.Repeat("x", 3<<20))
	_, stderr, code := p.rota("job", "submit", "--store", "file:store", "large.yaml")
	if code == exitOK || !containsAll(stderr, []string{"large.yaml: 3145740 bytes; a definition has at most 1048576",
		"try: "}) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// The jobs that the guide shows are sound.
func TestJobsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide := must.Get(os.ReadFile("../../../docs/guide/jobs.md"))(t)
	types := must.Get(env{}.typesOf(allowed{exec: []string{"/opt/etl/load", "/opt/etl/report"}}, false))(t)
	blocks := strings.Split(string(guide), "```yaml\n")[1:]
	for i, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if _, _, err := source.ParseJob("job.yaml", []byte(text), types, new(submission).accepts); err != nil {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d jobs were read, want 2", len(blocks))
	}
}

// mended is a flow whose function fails on one segment until it is mended, and whose input ends when it is told to.
type mended struct {
	fixed, end atomic.Bool
	more       int      // bad segments beside the one
	written    sync.Map // the segments: a batch may be written twice
}

func (m *mended) types() []rota.Type {
	type none struct{}
	return []rota.Type{
		rota.NewInput("in", rota.Input[none, string]{Read: func(_ context.Context, _ *rota.Grant, _ none, at []byte,
			out *rota.Sender[string]) ([]byte, bool, error) {
			for _, s := range []string{"good", "bad", "fine"} {
				if at == nil {
					_ = out.Send(s)
				}
			}
			for range m.more {
				if at == nil {
					_ = out.Send("bad")
				}
			}
			return []byte("read"), at != nil && m.end.Load(), nil
		}}),
		rota.NewStage("work", rota.Stage[none, string, string]{Attempts: 1,
			Do: func(_ context.Context, _ *rota.Grant, _ none, in []string, out *rota.Sender[string]) error {
				for _, s := range in {
					if s == "bad" && !m.fixed.Load() {
						return errors.New("no such luck")
					}
					_ = out.Send(s)
				}
				return nil
			}}),
		rota.NewOutput("out", rota.Output[none, string]{Write: func(_ context.Context, _ *rota.Grant, _ none,
			in []string) error {
			for _, s := range in {
				m.written.Store(s, true)
			}
			return nil
		}}),
	}
}

// has tells whether all of these segments are written.
func (m *mended) has(segments ...string) bool {
	for _, s := range segments {
		if _, ok := m.written.Load(s); !ok {
			return false
		}
	}
	return true
}

// retryFromFile does the dead letters again by a job that reads them from a file.
func (m *mended) retryFromFile(t *testing.T, ctx context.Context, p *place, member *rota.Member) {
	t.Helper()
	out, errs, code := p.rota("job", "dead-letters", "list", "luck", "--segments", "work", "--store", "file:store")
	if code != exitOK || strings.Count(out, "\"bad\"\n") != mostDead+2 {
		t.Fatalf("exit %d: %d lines: %s", code, strings.Count(out, "\n"), errs)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(p.dir, "dead.jsonl"), []byte(out), 0o600))
	m.fixed.Store(true)
	job := "tasks: [{name: in, type: files.lines, config: {json: true, paths: [" + filepath.Join(p.dir, "dead.jsonl") +
		"]}}, {name: work, type: work, from: in}, {name: out, type: out, from: work}]"
	must.Succeed(t, must.Err(member.SubmitFile(ctx, "again.yaml", []byte(job))))
	must.Succeed(t, member.Wait(ctx, "again"))
	if !m.has("bad") {
		t.Error("it was not done again")
	}
}

// Dead letters of a flow that is completed stay a problem until somebody drops them, and what the list leaves out is
// said.
func TestDeadLettersOfACompletedFlow(t *testing.T) {
	p, m := newPlace(t), &mended{more: mostDead + 1}
	m.end.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a failure waits for it
	defer cancel()
	st := must.Get(file.Open(ctx, filepath.Join(p.dir, "store"), file.Options{}))(t)
	defer st.Close()
	lines := tasks.Builtin(tasks.Options{TailAllow: []string{p.dir}})["files.lines"]
	member, err := rota.Join(ctx, rota.Config{Member: "m", Store: st, Slots: 3, Types: append(m.types(), lines)})
	must.Succeed(t, err)
	defer member.Leave(ctx)
	_, err = member.SubmitFile(ctx, "luck.yaml",
		[]byte("tasks: [{name: in, type: in}, {name: work, type: work, from: in}, {name: out, type: out, from: work}]"))
	must.Succeed(t, err)
	must.Succeed(t, member.Wait(ctx, "luck"))
	if out, errs, code := p.rota("status", "--check", "--store", "file:store"); code != exitFailed ||
		!strings.Contains(errs, "dead letters: 1002") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	metrics := api.NewFlowCollector(st, member.Value)
	if got := testutil.CollectAndCount(metrics, "rota_flow_segments"); got != 12 {
		t.Errorf("%d series of a completed flow with dead letters", got)
	}
	if out, _, _ := p.rota("status", "--store", "file:store"); !containsAll(out,
		[]string{"! dead letters", "luck", "1002 dead letters", "rota job dead-letters list luck "}) {
		t.Errorf("the status is\n%s", out)
	}
	if out, _, _ := p.rota("why", "luck/work", "--store", "file:store"); !containsAll(out,
		[]string{"  flow    complete\n", "1,002 dead letters: rota job dead-letters list luck --store file:store"}) {
		t.Errorf("it is explained as\n%s", out)
	}
	if out, _, _ := p.rota("job", "dead-letters", "list", "luck", "--store", "file:store"); !containsAll(out,
		[]string{"and 2 more: rota job dead-letters list luck --all", "rota job dead-letters drop luck"}) {
		t.Errorf("the list ends\n%s", out[max(0, len(out)-500):])
	}
	out, _, _ := p.rota("job", "dead-letters", "list", "luck", "-o", "json", "--store", "file:store")
	var all []Dead
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != mostDead+2 {
		t.Errorf("%d letters, %v", len(all), err)
	}
	const segments = "rota job dead-letters list luck --segments "
	if _, errs, code := p.rota("job", "dead-letters", "retry", "luck", "--store", "file:store"); code != exitFailed ||
		!containsAll(errs, []string{"nothing may come after them", segments}) {
		t.Errorf("put back behind the seal: exit %d: %s", code, errs)
	}
	if out, _, _ := p.rota("job", "dead-letters", "list", "luck", "--store", "file:store"); !strings.Contains(out,
		segments+"work") || strings.Contains(out, "retry") {
		t.Errorf("the list of a completed job ends\n%s", out[max(0, len(out)-500):])
	}
	m.retryFromFile(t, ctx, p, member)
	if _, errs, code := p.rota("job", "dead-letters", "drop", "luck", "--store", "file:store"); code != exitOK ||
		!strings.Contains(errs, "1,002 dead letters dropped") && !strings.Contains(errs, "1002 dead letters dropped") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if out, errs, code := p.rota("status", "--check", "--store", "file:store"); code != exitOK {
		t.Errorf("after they were dropped: exit %d: %s%s", code, out, errs)
	}
	for range 2 {
		if got := testutil.CollectAndCount(metrics, "rota_flow_segments"); got != 0 {
			t.Errorf("%d series of a completed flow without dead letters", got)
		}
	}
}

// A segment on which a function fails is a dead letter: it is shown, put back when the function is mended, and then
// goes the way of the others.
func TestDeadLettersAreShownAndPutBack(t *testing.T) {
	p, m := newPlace(t), &mended{}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a failure waits for it
	defer cancel()
	st := must.Get(file.Open(ctx, filepath.Join(p.dir, "store"), file.Options{}))(t)
	defer st.Close()
	member := must.Get(rota.Join(ctx, rota.Config{Member: "m", Store: st, Slots: 3, Types: m.types()}))(t)
	defer member.Leave(ctx)
	job := "tasks: [{name: in, type: in}, {name: work, type: work, from: in}, {name: out, type: out, from: work}]"
	must.Succeed(t, must.Err(member.SubmitFile(ctx, "luck.yaml", []byte(job))))
	flow := func() (f view.Flow) {
		stdout, stderr, code := p.rota("job", "show", "luck", "-o", "json", "--store", "file:store")
		var j view.Job
		if err := json.Unmarshal([]byte(stdout), &j); code != exitOK || err != nil {
			t.Fatalf("exit %d, %v: %s", code, err, stderr)
		}
		if j.Flow != nil {
			f = *j.Flow
		}
		return f
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for !holds() {
			if ctx.Err() != nil {
				t.Fatalf("%s: it is not so: %+v", what, flow())
			}
			time.Sleep(10 * time.Millisecond) // waits: between two looks at a condition
		}
	}
	until("there is a dead letter", func() bool { f := flow(); return len(f.Tasks) == 3 && f.Tasks[1].Dead == 1 })
	until("the others are written", func() bool { return m.has("good", "fine") && !m.has("bad") })
	stdout, _, _ := p.rota("job", "dead-letters", "list", "luck", "--store", "file:store")
	if !containsAll(stdout, []string{"work", "no such luck", "bad", "rota job dead-letters retry luck"}) {
		t.Errorf("the dead letters are\n%s", stdout)
	}
	m.fixed.Store(true)
	if _, stderr, code := p.rota("job", "dead-letters", "retry", "luck", "--store", "file:store"); code != exitOK ||
		!strings.Contains(stderr, "1 dead letter put back") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if d, err := st.Get(ctx, "flow-bell"); err != nil || !strings.Contains(string(d.Value), `"luck@`) {
		t.Errorf("idle stages are not told: %s, %v", d.Value, err)
	}
	until("it is written", func() bool { return m.has("bad") })
	if stdout, _, _ := p.rota("events", "--kind", "asked", "--store", "file:store"); !strings.Contains(stdout,
		"retry-dead luck: 1") {
		t.Errorf("the journal does not say who has put it back:\n%s", stdout)
	}
	m.end.Store(true)
	must.Succeed(t, member.Wait(ctx, "luck"))
	stdout, _, _ = p.rota("job", "show", "luck", "--store", "file:store")
	if !containsAll(stdout, []string{"FLOW", "FROM", "PENDING", "complete", "segments"}) {
		t.Errorf("the job is\n%s", stdout)
	}
	if stdout, _, code := p.rota("status", "--check", "--store", "file:store"); code != exitOK {
		t.Errorf("a flow without dead letters: exit %d\n%s", code, stdout)
	}
	if f := flow(); f.Tasks[0].Out != 4 || f.Tasks[1].In != 4 || f.Tasks[2].In != 3 || f.Tasks[1].Dead != 0 ||
		!f.Tasks[2].Complete {
		t.Errorf("the flow is %+v", f)
	}
}

// A cluster may keep its flows in a queue of its own: the store has nothing of them, a member with another queue is
// refused, and a command that was not given the queue says where it is.
func TestQueueApartFromTheStore(t *testing.T) {
	p, m := newPlace(t), &mended{}
	m.end.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a failure waits for it
	defer cancel()
	open := func(dir string) *file.Store {
		st := must.Get(file.Open(ctx, filepath.Join(p.dir, dir), file.Options{}))(t)
		t.Cleanup(func() { st.Close() })
		return st
	}
	st, queue := open("store"), open("queue")
	place := placeOf("file:" + filepath.Join(p.dir, "queue"))
	c := rota.Config{Member: "m", Store: st, Broker: rota.Broker{Queue: queue, Place: place}, Slots: 3,
		Types: m.types()}
	member, err := rota.Join(ctx, c)
	must.Succeed(t, err)
	defer member.Leave(ctx)
	_, err = member.SubmitFile(ctx, "luck.yaml",
		[]byte("tasks: [{name: in, type: in}, {name: work, type: work, from: in}, {name: out, type: out, from: work}]"))
	must.Succeed(t, err)
	must.Succeed(t, member.Wait(ctx, "luck"))
	c.Member, c.Broker = "n", rota.Broker{}
	var other *protocol.OtherQueueError
	if _, err := rota.Join(ctx, c); !errors.As(err, &other) || other.Has != place {
		t.Errorf("a member without the queue: %v", err)
	}
	job, _ := member.Value().Job("luck")
	if _, err := st.Depth(ctx, supervisor.FlowName(&job)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the store has the flow too: %v", err)
	}
	if out, errs, code := p.rota("status", "--store", "file:store"); !strings.Contains(out,
		"not known: the cluster keeps its flows in "+place+", not in its store") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"job", "show"}, {"job", "dead-letters", "list"}, {"job", "dead-letters", "drop"}} {
		args = append(args, "luck", "--store", "file:store")
		if out, errs, code := p.rota(args...); code != exitFailed || !strings.Contains(errs, "try: --queue "+place) {
			t.Errorf("%s: exit %d: %s%s", args, code, out, errs)
		}
		if out, errs, code := p.rota(append(args, "--queue", "file:queue")...); code != exitOK {
			t.Errorf("%s: exit %d: %s%s", args, code, out, errs)
		}
	}
	if out, errs, code := p.rota("status", "--check", "--store", "file:store", "--queue",
		"file:queue"); code != exitOK {
		t.Errorf("the only dead letter was dropped: exit %d: %s%s", code, out, errs)
	}
	for try, args := range map[string][]string{
		"--queue file:./rota-data":     {"run", "--store", "file:store", "--queue", "nowhere:"},
		"--queue " + place + ", or an": {"run", "--store", "file:store", "--member", "x", "--listen", "none"},
	} {
		if out, errs, code := p.rota(args...); code == exitOK || !strings.Contains(errs, try) {
			t.Errorf("%s: exit %d: %s%s", args, code, out, errs)
		}
	}
}
