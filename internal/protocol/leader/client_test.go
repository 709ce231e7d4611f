package leader

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestAClientAsks: whatever becomes of its calls, a client hears what the leader answers, and takes its request away.
func TestAClientAsks(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct { // order-free: each has a store of its own
		script string
		lost   int // how often the request is removed without an answer
		err    string
		want   string
	}{
		"nothing fails":       {},
		"it was written":      {script: "lose-reply put times=1"},
		"it was not written":  {script: "lose-request put times=1"},
		"it is written late":  {script: "late put times=1\nhold put times=1"},
		"the store is away":   {script: "refuse get times=20"},
		"the store refuses":   {script: "refuse put", want: "ask the leader: put"},
		"it is removed":       {lost: 1},
		"it is removed twice": {lost: 2, want: "the request was removed twice"},
		"the leader will not": {err: "it is late", want: "ask the leader: it is late"},
		"nobody answers":      {lost: -1, want: "outcome unknown"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := memory.New()
			s := faults.NewFaulty(server.Open(), must.Get(faults.Script(c.script))(t))
			docs := server.Open()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var leader sync.WaitGroup
			leader.Go(func() {
				for lost := 0; c.lost >= 0 && ctx.Err() == nil; time.Sleep(clientPoll / 4) { // waits: in virtual time
					s.Release()
					asked := must.Get(docs.List(t.Context(), planPrefix))(t)
					switch {
					case len(asked) == 0:
					case lost < c.lost:
						lost++
						must.Succeed(t, docs.Delete(t.Context(), asked[0].Key, asked[0].Version))
					default:
						c.lost = -1
						p := must.Get(Decode(asked[0].Key, asked[0].Value))(t).(planDoc)
						p.Answer = &planAnswer{Results: []cluster.Result{{Accepted: c.err == ""}}, Err: c.err}
						must.Succeed(t, must.Err(docs.Put(t.Context(),
							store.Doc{Key: asked[0].Key, Version: asked[0].Version, Value: must.Get(Encode(p))(t)})))
					}
				}
			})
			results, err := must.Get(Protocol{}.Client(s))(t).Propose(ctx, cluster.KillJob{Job: "j"})
			cancel()
			leader.Wait()
			if fine := err == nil && len(results) == 1 && results[0].Accepted; fine != (c.want == "") ||
				!fine && !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %v, %v, want %q", what, results, err, c.want)
			}
			left := must.Get(docs.List(t.Context(), ""))(t)
			if n := s.Count(faults.Pass); what != "nobody answers" && (n > 10 || len(left) > 0) {
				t.Errorf("%s: it made %d calls, and left %v", what, n, left)
			}
		})
	}
}
