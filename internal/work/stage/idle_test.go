package stage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// A worker that has been idle for long waits until the flow has changed, seldom looks by itself, and less seldom where
// others have messages. What it receives ends that.
func TestAnIdleWorkerIsWoken(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		for _, keyed := range []bool{false, true} {
			p, changed, subscribed := newPlace(t), make(chan struct{}), 0
			p.graph.Edges[0].By, p.graph.Tasks[1].Keyed = "*", keyed
			p.put(t)
			f, _ := p.Flow(t.Context(), nil)
			f.Subscribe = func() (<-chan struct{}, func()) { subscribed++; return changed, func() { subscribed-- } }
			w := &worker{grant: &work.Grant{Task: "b", Log: slog.New(slog.DiscardHandler)}, flow: f, pause: shortest}
			from := store.Shard{Edge: "edge/a/b"}
			if keyed {
				w.keyed, from.Edge = &Keyed{}, "chain/b"
				p.store(t, "state", store.Put{Shard: from})
			}
			ctx, cancel := context.WithCancel(t.Context())
			dozes := func() time.Duration {
				began := time.Now()
				if err := w.doze(ctx); !errors.Is(err, ctx.Err()) {
					t.Errorf("%v, want %v", err, ctx.Err())
				}
				return time.Since(began)
			}
			began := time.Now()
			for subscribed == 0 && dozes() <= longest {
			}
			if idle := time.Since(began); idle < calm || idle > calm+longest {
				t.Errorf("it listens after %v", idle)
			}
			w.in, w.quiet = p.graph.Ingress("b"), true
			must.Succeed(t, must.Err(w.look(ctx)))
			if d := dozes(); d != 5*time.Second {
				t.Errorf("it looks after %v where others have messages", d)
			}
			w.quiet = true
			if d := dozes(); d != 20*time.Second {
				t.Errorf("it looks after %v", d)
			}
			if _, err := w.receive(ctx, from); err != nil || subscribed != 0 || w.pause != shortest {
				t.Errorf("after a message, %v: %d listen, the next pause is %v", err, subscribed, w.pause)
			}
			w.listen(true)
			close(changed)
			if d := dozes(); d != 0 || subscribed != 0 || w.pause != shortest {
				t.Errorf("woken after %v: %d listen, the next pause is %v", d, subscribed, w.pause)
			}
			w.changed = make(chan struct{})
			w.unsubscribe = func() {}
			cancel()
			if d := dozes(); d != 0 {
				t.Errorf("it was stopped, and goes on for %v", d)
			}
		}
	})
}

// Runs of a task begin at different shards, and all of them at one that is there.
func TestRunsBeginAtDifferentShards(t *testing.T) {
	t.Parallel()
	seen := make(map[int]bool)
	for _, p := range []cluster.PartitionID{"job/task/0", "job/task/1", "job/task/2", "job/task/3"} {
		w := &worker{grant: &work.Grant{Partition: p}, in: make([]flow.Shard, 4)}
		seen[w.first()] = w.first() < 4
	}
	if len(seen) != 4 || !seen[0] || !seen[1] || !seen[2] || !seen[3] {
		t.Errorf("they begin at %v", seen)
	}
}

// A segment goes to the shard of its key, which the caller has or a field of it; what has no key goes where its batch
// goes. The same text as a string and bare is the same key.
func TestWhereASegmentGoes(t *testing.T) {
	t.Parallel()
	number := func(string) (string, error) { return "7", nil }
	for _, c := range []struct {
		by, segment string
		key         Keyer
		want        string // the key; "": none
		err         string
	}{
		{"*", "7", nil, "7", ""}, {"k", `{"k":"7"}`, nil, "7", ""}, {"k", `{"k":7}`, nil, "7", ""},
		{"k", "no JSON", number, "7", ""}, {"", "no JSON", nil, "", ""},
		{"", strings.Repeat("x", MaxOutput), nil, "", "more than"}, {"k", "no JSON", nil, "", "no JSON object"}, {"k", `{"l":7}`, nil, "", `no field "k"`},
	} {
		out := newOut([]flow.Edge{{To: "b", Shards: 8, By: c.by}}, 13)
		if err := out.Send([]byte(c.segment), c.key); (err == nil) != (c.err == "") ||
			err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		want := 13 % 8
		if c.want != "" {
			want = flow.ShardOf(c.want, 8)
		}
		if all := out.puts(); c.err == "" && (len(all) != 1 || all[0].Shard.Number != want || all[0].Segments != 1) {
			t.Errorf("%+v: puts out %+v, want shard %d", c, all, want)
		}
	}
	if all := newOut([]flow.Edge{{Shards: 8}, {Shards: 8, By: "k"}}, 13).puts(); len(all) != 1 {
		t.Errorf("an empty batch: %+v", all)
	}
}

// A worker takes more messages at a time while all of them are soon done, up to a bound.
func TestHowManyMessagesAWorkerTakes(t *testing.T) {
	t.Parallel()
	w := &worker{}
	for i, c := range []struct {
		delivered int
		took      time.Duration
		want      int
	}{{16, 0, 32}, {31, 0, 32}, {32, soon, 64}, {64, 0, 64}, {64, soon + 1, 16}} {
		if w.pace(c.delivered, c.took); w.limit != c.want {
			t.Errorf("%d: takes %d, want %d", i, w.limit, c.want)
		}
	}
}
