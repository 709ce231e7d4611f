package fold_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestAClientAppends: whatever becomes of its calls, a client hears what its own commands did, once.
func TestAClientAppends(t *testing.T) {
	t.Parallel()
	good := func(_ cluster.Value, e cluster.Entry) ([]byte, error) { return e.Encode(), nil }
	bad := func(cluster.Value, cluster.Entry) ([]byte, error) { return []byte("no entry"), nil }
	for what, c := range map[string]struct { // order-free: each has a store of its own
		script string
		encode func(cluster.Value, cluster.Entry) ([]byte, error)
		want   string
		head   uint64 // how many entries there are
	}{
		"nothing fails":          {"", good, "", 1},
		"it was appended":        {"lose-reply append times=1", good, "", 1},
		"it was not appended":    {"lose-request append times=1", good, "", 1},
		"it comes late":          {"late append times=1", good, "", 2},
		"the log refuses":        {"refuse append", good, "propose: append", 0},
		"readers pass over it":   {"", bad, "pass over it", 2},
		"it is never read again": {"pass read times=1\nhold read", good, "deadline exceeded", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := memory.New()
			log, plain := faults.NewFaulty(server.Open(), must.Get(faults.Script(c.script))(t)), server.Open()
			time.AfterFunc(time.Millisecond, func() {
				if strings.HasPrefix(c.script, "late") {
					log.Release()
				}
			})
			first := func(cluster.Value) []cluster.Command { return []cluster.Command{cluster.Configure{Retention: 5}} }
			client := &fold.Client{Log: log, Encode: c.encode, First: first}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			results, err := client.Propose(ctx, cluster.KillJob{Job: "none"})
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) ||
				err == nil && (len(results) != 1 || results[0].Accepted) {
				t.Errorf("%s: %+v, %v, want %q", what, results, err, c.want)
			}
			if page := must.Get(plain.Read(t.Context(), 0, 10))(t); page.Head != c.head {
				t.Errorf("%s: %d entries, want %d", what, page.Head, c.head)
			}
		})
	}
}

// TestAClientSaysEachEntry under a number and a name of its own, beside others that use the same numbers.
func TestAClientSaysEachEntry(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	encode := func(_ cluster.Value, e cluster.Entry) ([]byte, error) { return e.Encode(), nil }
	one, two := &fold.Client{Log: docs, Encode: encode}, &fold.Client{Log: docs, Encode: encode}
	says := func(c *fold.Client, cmd cluster.Command, accepted bool) {
		t.Helper()
		results, err := c.Propose(t.Context(), cmd)
		if err != nil || len(results) != 1 || results[0].Accepted != accepted {
			t.Errorf("%v: %+v, %v, want one answer, accepted: %t", cmd, results, err, accepted)
		}
	}
	for range 3 {
		says(one, cluster.Configure{Retention: 5}, true)
		says(two, cluster.KillJob{Job: "none"}, false)
		says(two, cluster.Configure{Retention: 6}, true)
		says(one, cluster.KillJob{Job: "none"}, false)
	}
}

// stuck is a log whose entries are trimmed up to its snapshot, which does not help.
type stuck struct {
	store.Log
	snapshot store.Record
}

func (stuck) Read(context.Context, uint64, int) (store.Page, error) {
	return store.Page{}, store.ErrTruncated
}
func (s stuck) Snapshot(context.Context) (store.Record, error) { return s.snapshot, nil }

// opener finds the log of a store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "any") }

// TestObserve: an observer sees entries alone, does not go on in a log that is another one, and gives up where it must.
func TestObserve(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	for seq := range uint64(3) {
		must.Succeed(t, must.Err(docs.Append(t.Context(), cluster.Entry{Writer: "w", Seq: seq + 1,
			Commands: []cluster.Command{cluster.Configure{Retention: int64(seq) + 5}}}.Encode())))
		must.Succeed(t, must.Err(docs.Append(t.Context(), []byte("no entry"))))
	}
	var seen []cluster.Index
	see := func(a protocol.Applied) bool {
		seen = append(seen, a.Entry.Index)
		return true
	}
	var v cluster.Value
	if err := fold.Log(t.Context(), docs, &v, see); err != nil || fmt.Sprint(seen) != "[1 3 5]" || v.Index() != 6 {
		t.Errorf("it has seen %v, and is at %s, %v", seen, v.Index(), err)
	}
	seen = nil
	after := func(_ cluster.Value, a protocol.Applied) bool { return see(a) }
	if err := (fold.Observer[opener]{}).History(t.Context(), docs, 3, after); err != nil || fmt.Sprint(seen) != "[5]" {
		t.Errorf("behind 3 it has seen %v, %v", seen, err)
	}
	var other *protocol.DivergedError
	if _, err := fold.Observe(t.Context(), memory.New().Open(), v); !errors.As(err, &other) {
		t.Errorf("of a log that is empty now: %v", err)
	}
	same := stuck{snapshot: store.Record{Index: uint64(v.Index()), Data: v.Snapshot()}}
	if _, err := fold.Observe(t.Context(), same, v); err == nil || !strings.Contains(err.Error(), "are trimmed") {
		t.Errorf("of a log that begins behind its snapshot: %v", err)
	}
}
