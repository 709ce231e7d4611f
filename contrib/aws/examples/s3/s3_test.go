package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/swarm"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/file"
)

// asProcess in the environment makes this test binary the program itself.
const asProcess = "ROTA_EXAMPLE_S3"

func TestMain(m *testing.M) { swarm.Main(m, asProcess, run) }

// took is that a process has taken an object.
type took struct {
	by    *swarm.Process
	name  string
	size  int
	token uint64
}

// observer assembles the value of a store.
type observer func(context.Context, protocol.Store, cluster.Value) (cluster.Value, error)

// Three processes, one of which is killed: each object is taken, and twice only where a run was cut.
func TestEachObjectIsTaken(t *testing.T) { eachIsTaken(t, 3000, 1, replica.Protocol{}.Observe) }

// The same of the source document elasticsearch-cluster-state: members claim the objects, and two of three processes
// are killed.
func TestEachObjectIsClaimed(t *testing.T) {
	eachIsTaken(t, 1000, 2, lease.Protocol{}.Observe, "-protocol", "lease")
}

// eachIsTaken kills some of three processes that agree by a protocol.
func eachIsTaken(t *testing.T, objects, kills int, observe observer, args ...string) {
	t.Helper()
	t.Parallel()
	h, err := toy{objects: objects}.handler()
	must.Succeed(t, err)
	dir, all := filepath.Join(t.TempDir(), "store"), make(chan struct{})
	gateway := httptest.NewServer(behind(all, h))
	defer gateway.Close()
	s := swarm.New(t, asProcess,
		append([]string{"-store", dir, "-endpoint", gateway.URL, "-place", "s3://logs/2026/", "-ttl", "30s"},
			args...)...)
	for _, name := range []string{"a", "b", "c"} {
		s.Start(name)
	}
	go func() {
		defer close(all)
		awaitJoined(t, dir, len(s.Up), observe)
	}()
	began := time.Now()
	by := play(t, s, objects, kills)
	again := 0
	for i := range objects {
		all := by[name(i)]
		if len(all) == 0 {
			t.Errorf("%s was not taken", name(i))
			continue
		}
		again += len(all) - 1
		for n, l := range all {
			if l.size != size(i) {
				t.Errorf("%s: %d bytes were read, want %d", l.name, l.size, size(i))
			}
			if n < len(all)-1 && !l.by.Killed && !all[n+1].by.Killed {
				t.Errorf("%s was taken by %s and then by %s, and neither was killed", l.name, l.by.Name,
					all[n+1].by.Name)
			}
		}
	}
	t.Logf("%d objects in %.1f s; %d processes killed; %d objects were taken twice", len(by),
		time.Since(began).Seconds(), kills, again)
}

// behind is a gateway that keeps its objects until a channel is closed: who comes late finds something to do.
func behind(gate <-chan struct{}, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("list-type") {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
}

// awaitJoined waits until so many members have joined, or the test has ended.
func awaitJoined(t *testing.T, dir string, members int, observe observer) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for joined(t.Context(), dir, observe) != members {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}

// joined is how many members there are in a store; none while there is no store.
func joined(ctx context.Context, dir string, observe observer) (n int) {
	st, err := file.Open(ctx, dir, file.Options{ReadOnly: true})
	if err != nil {
		return 0
	}
	defer st.Close()
	v, err := observe(ctx, st, cluster.Value{})
	if err != nil {
		return 0
	}
	for m := range v.Members() {
		if m.State == cluster.MemberJoined {
			n++
		}
	}
	return n
}

// play kills one process when a third is taken and all take part, perhaps another one at two thirds, and waits for the
// end of the others.
func play(t *testing.T, s *swarm.Swarm, objects, kills int) map[string][]took {
	by, seen := map[string][]took{}, map[*swarm.Process]bool{}
	limit := time.NewTimer(4 * time.Minute)
	defer limit.Stop()
	killed := 0
	for running := len(s.Up); running > 0; {
		select {
		case l := <-s.Lines:
			one := took{by: l.By}
			if l.Ended {
				running--
				if !l.By.Killed && l.By.Err != nil {
					t.Errorf("%s has ended: %v", l.By.Name, l.By.Err)
				}
			} else if _, err := fmt.Sscanf(l.Text, "took %q %d %d", &one.name, &one.size, &one.token); err != nil {
				t.Errorf("%s says: %s", l.By.Name, l.Text)
			} else {
				by[one.name] = append(by[one.name], one)
				seen[l.By] = true
			}
			if killed < kills && len(by) >= objects*(killed+1)/3 && len(seen) == len(s.Up) && !l.By.Killed {
				killed++
				s.Kill(l.By)
			}
		case <-limit.C:
			for _, p := range s.Up {
				s.Kill(p)
			}
			t.Fatalf("%d of %d objects are taken", len(by), objects)
		}
	}
	if killed != kills {
		t.Errorf("%d were killed, want %d: not all took part", killed, kills)
	}
	return by
}
