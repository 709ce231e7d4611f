package storecopy

import (
	"context"
	"errors"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// source is a store with a cluster of one job, a position and a heartbeat.
func source(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New().Open()
	t.Cleanup(func() { s.Close() })
	for _, job := range []cluster.JobID{"job", "rota.source.tasks"} { // that of Rota itself is copied, and not counted
		submit := cluster.SubmitJob{Job: job, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}}
		if res, err := replica.NewClient(s).Propose(t.Context(), submit); err != nil || !res[0].Accepted {
			t.Fatal(res, err)
		}
	}
	for _, key := range []string{"position/job", protocol.HeartbeatPrefix + "a/1"} {
		must.Succeed(t, must.Err(s.Put(t.Context(), store.Doc{Key: key, Value: []byte(key)})))
	}
	return s
}

// failing fails its nth write.
type failing struct {
	*memory.Store
	left *int
}

var errBroken = errors.New("the disk is broken")

func (f failing) spend() error {
	if *f.left--; *f.left < 0 {
		return errBroken
	}
	return nil
}

func (f failing) SeedLog(ctx context.Context, index uint64) error {
	return errors.Join(f.spend(), f.Store.SeedLog(ctx, index)) // done, and the answer is lost
}

func (f failing) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := f.Store.Put(ctx, d)
	return v, errors.Join(f.spend(), err)
}

func (f failing) SaveSnapshot(ctx context.Context, r store.Record) error {
	if err := f.spend(); err != nil {
		return err
	}
	return f.Store.SaveSnapshot(ctx, r)
}

func opens(to Target) func() (Target, error) { return func() (Target, error) { return to, nil } }

// A copy that broke off anywhere is begun again and ends well.
func TestCopyBrokenOffIsDoneAgain(t *testing.T) {
	t.Parallel()
	from := source(t)
	for fails := range 3 {
		to, left := memory.New().Open(), fails
		if _, err := Copy(t.Context(), replica.Protocol{}, from, opens(failing{to, &left}), false); !errors.Is(err,
			errBroken) {
			t.Fatalf("write %d: %v", fails, err)
		}
		if _, err := fold.Observe(t.Context(), to, cluster.Value{}); err == nil {
			t.Errorf("write %d: what is half copied passes for a cluster", fails)
		}
		r, err := Copy(t.Context(), replica.Protocol{}, from, opens(to), false)
		if err != nil || r.Jobs != 1 || r.Partitions != 1 || r.Documents != 1 {
			t.Errorf("write %d: %+v, %v", fails, r, err)
		}
		docs, err := to.List(t.Context(), "")
		if err != nil || len(docs) != 1 || docs[0].Key != "position/job" {
			t.Errorf("write %d: %v, %v", fails, docs, err)
		}
		to.Close()
	}
}

// lagging is a store whose lists do not show what was written since the last refresh.
type lagging struct {
	*memory.Store
	seen []store.Doc
}

func (l *lagging) Refresh(ctx context.Context) (err error) {
	l.seen, err = l.Store.List(ctx, "")
	return err
}

func (l *lagging) List(context.Context, string) ([]store.Doc, error) { return l.seen, nil }

// The newest documents are copied, and seen in the copy.
func TestCopyOfStaleLists(t *testing.T) {
	t.Parallel()
	to := &lagging{Store: memory.New().Open()}
	defer to.Close()
	r, err := Copy(t.Context(), replica.Protocol{}, &lagging{Store: source(t)}, opens(to), false)
	if err != nil || r.Documents != 1 || len(to.seen) != 1 {
		t.Errorf("%d documents were copied, the copy shows %d, %v; want 1 and 1", r.Documents, len(to.seen), err)
	}
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	from, empty := source(t), memory.New().Open()
	defer empty.Close()
	if _, err := Copy(t.Context(), replica.Protocol{}, empty, opens(empty), false); err == nil {
		t.Error("nothing was copied")
	}
	if _, err := Copy(t.Context(), replica.Protocol{}, from, opens(from), false); !errors.Is(err, store.ErrConflict) {
		t.Errorf("onto itself: %v", err)
	}
	must.Succeed(t, must.Err(empty.Put(t.Context(), store.Doc{Key: "position/job", Value: []byte("another")})))
	if _, err := Copy(t.Context(), replica.Protocol{}, from, opens(empty), false); !errors.Is(err, store.ErrConflict) {
		t.Errorf("over another document: %v", err)
	}
	join := cluster.PrepareJoin{Member: "m", Heartbeat: "pulse/m/1"}
	must.Succeed(t, must.Err(replica.NewClient(from).Propose(t.Context(), join)))
	to := memory.New().Open()
	defer to.Close()
	if _, err := Copy(t.Context(), replica.Protocol{}, from, nil, false); !errors.Is(err, ErrMembers) { // nil: the target is not even opened, which would make its place
		t.Errorf("with members: %v", err)
	}
	if r, err := Copy(t.Context(), replica.Protocol{}, from, opens(to), true); err != nil || len(r.Members) != 1 {
		t.Errorf("live: %+v, %v", r, err)
	}
}
