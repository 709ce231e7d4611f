package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// scene is a cluster of members a, b, c that own one task each, with what they write beside the value, and an observer.
type scene struct {
	t       *testing.T
	v       cluster.Value
	docs    *memory.Store
	now     protocol.Instant
	lookout *view.Lookout
}

func newScene(t *testing.T, specs ...cluster.JobSpec) *scene {
	t.Helper()
	s := &scene{t: t, docs: memory.New().Open(), now: 1}
	t.Cleanup(func() { s.docs.Close() })
	s.lookout = view.NewLookout(s.docs, func() protocol.Instant { return s.now })
	f := &folded{}
	for _, m := range []cluster.MemberID{"a", "b", "c"} {
		f.join(m, cluster.PrepareJoin{})
	}
	every := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadEvery}}}
	for i, spec := range append([]cluster.JobSpec{every}, specs...) {
		f.apply(cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%d", i)), Spec: spec})
	}
	s.v = f.v
	return s
}

// write writes a document again.
func (s *scene) write(key string, value any) {
	s.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := s.docs.Get(s.t.Context(), key)
	if err != nil {
		d.Version = ""
	}
	if _, err := s.docs.Put(s.t.Context(), store.Doc{Key: key, Value: text, Version: d.Version}); err != nil {
		s.t.Fatal(err)
	}
}

// beat writes a heartbeat that is so old by its owner's clock.
func (s *scene) beat(member string, age time.Duration) {
	s.t.Helper()
	s.write("pulse/"+member, map[string]any{"member": member, "at_ms": time.Now().Add(-age).UnixMilli(),
		"ttl_ms": 10_000})
}

func (s *scene) look() view.Sight {
	s.t.Helper()
	sight, err := s.lookout.Look(s.t.Context(), s.v)
	if err != nil {
		s.t.Fatal(err)
	}
	return sight
}

// states are those of the members as the lookout sees them.
func (s *scene) states() string {
	members := s.look().Members()
	var out []string
	for _, m := range members {
		out = append(out, m.Member+":"+m.Heartbeat.State)
	}
	return strings.Join(out, " ")
}

func TestWhatOneLookKnowsAndWhatTwoKnow(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.beat("a", time.Second)
	s.beat("b", time.Hour) // b's clock may be wrong
	if got := s.states(); got != "a:present b:late c:gone" {
		t.Errorf("one look: %s", got)
	}
	if n := s.look().Status().Members.Silent; n != 2 {
		t.Errorf("%d are probably dead, want b and c", n)
	}
	s.now = s.now.Add(9 * time.Second)
	s.beat("b", time.Hour)
	s.beat("c", 0)
	if got := s.states(); got != "a:present b:renewed c:present" {
		t.Errorf("a second look: %s", got)
	}
	s.now = s.now.Add(2 * time.Second)
	if got := s.states(); got != "a:silent b:renewed c:present" {
		t.Errorf("after a's TTL by our clock: %s", got)
	}
	s.beat("a", 0)
	if got := s.states(); got != "a:renewed b:renewed c:present" {
		t.Errorf("a is back: %s", got)
	}
}

func TestASightCorrectsSumsAndTasks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.beat("a", 0)
	s.beat("b", 0)
	token := func(id string) cluster.Token { p, _ := s.v.Partition(cluster.PartitionID(id)); return p.Token }
	run := func(id string, state string, token cluster.Token) node.FailingRun {
		return node.FailingRun{Partition: cluster.PartitionID(id), Token: token, State: state, Rounds: 7, Failures: 7,
			Message: "refused"}
	}
	s.write("failing/a", node.Failing{Member: "a", Failing: 1,
		Runs: []node.FailingRun{run("j0#a", "failing", token("j0#a"))}})
	s.write("failing/b", node.Failing{Member: "b", Failing: 1,
		Runs: []node.FailingRun{run("j0#b", "failing", token("j0#b")-1)}}) // of a former owner
	s.write("failing/c", node.Failing{Member: "c", Failing: 1,
		Runs: []node.FailingRun{run("j0#c", "failing", token("j0#c"))}}) // of the dead
	s.write("failing/x", node.Failing{Member: "b", Failing: 1,
		Runs: []node.FailingRun{run("j0#b", "failing", token("j0#b"))}}) // in the name of another
	sight := s.look()
	tasks := sight.Tasks(view.Filter{})
	var got []string
	for i := range tasks {
		got = append(got, strings.TrimSpace(tasks[i].Task+" "+tasks[i].State+" "+tasks[i].FailureText()))
	}
	if want := "j0#a failing 7 of 7 rounds, last: refused|j0#b running|j0#c owner silent"; strings.Join(got,
		"|") != want {
		t.Errorf("got %q", got)
	}
	st := sight.Status()
	if st.Tasks.Running != 1 || st.Tasks.Failing != 1 || st.Tasks.Silent != 1 || st.Members.Silent != 1 ||
		st.Nobody != "" {
		t.Errorf("got %+v %+v %s", st.Tasks, st.Members, st.Nobody)
	}
	if len(st.Problems) != 2 || st.Problems[0].Member != "c" || st.Problems[1].Task != "j0#a" {
		t.Errorf("got %+v", st.Problems)
	}
	if got := strings.Join(st.Wrong(),
		"; "); got != "members that are probably dead: 1; tasks without a live owner: 1; failing: 1" {
		t.Errorf("it says that %q is wrong", got)
	}
	if len(sight.Tasks(view.Filter{State: "owner-silent", Owner: "c"})) != 1 ||
		len(sight.Tasks(view.Filter{State: "running"})) != 1 {
		t.Error("tasks are filtered by the state that the value has")
	}
}

// TestGuardiansAreCounted: a member that needs none, or says nothing, is neither guarded nor unguarded.
func TestGuardiansAreCounted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	count := func(want string, guardians ...string) {
		t.Helper()
		for i, g := range guardians {
			member := string(rune('a' + i))
			s.write("pulse/"+member, map[string]any{"member": member, "at_ms": time.Now().UnixMilli(), "ttl_ms": 10_000,
				"guardian": g})
		}
		sight := s.look()
		m := sight.Status().Members
		if got := fmt.Sprint(m.Guarded, m.Unguarded, sight.Unguarded()); got != want {
			t.Errorf("%q: got %s, want %s", guardians, got, want)
		}
	}
	count("0 0 []", "", "not needed", "")
	count("2 1 [b]", "on", "no memory", "on")
	count("1 2 [a c]", "no memory", "on", "no memory")
}

// What did not fit into a member's document is counted.
func TestMoreFailsThanIsListed(t *testing.T) {
	t.Parallel()
	var keys []string
	for i := range node.MaxFailing + 20 {
		keys = append(keys, fmt.Sprintf("k%03d", i))
	}
	s := newScene(t, cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPartitioned,
		Partitions: keys}}})
	for _, m := range []string{"a", "b", "c"} {
		s.beat(m, 0)
	}
	f := node.Failing{Member: "a", Failing: node.MaxFailing + 5, BackingOff: 3}
	for i := range node.MaxFailing {
		f.Runs = append(f.Runs, node.FailingRun{Partition: cluster.PartitionID(fmt.Sprintf("x%d", i)), Token: 1,
			State: "failing"})
	}
	p, _ := s.v.Partition("j0#a")
	f.Runs[0] = node.FailingRun{Partition: p.ID, Token: p.Token, State: "failing", Rounds: 1, Failures: 1}
	s.write("failing/a", f)
	before := view.Of(s.v).Status().Tasks.Running
	sight := s.look()
	st := sight.Status()
	if st.Tasks.Failing != 6 || st.Tasks.BackingOff != 3 || st.Tasks.Running != before-9 || st.More != 8 ||
		sight.Unlisted() != 8 {
		t.Errorf("got %+v, %d more, %d unlisted", st.Tasks, st.More, sight.Unlisted())
	}
}

// TestHeartbeatsOfSessions: the protocol lease keeps them below node/, and one that was fenced is none.
func TestHeartbeatsOfSessions(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	f := &folded{}
	for _, m := range []cluster.MemberID{"a", "b", "c"} {
		f.apply(cluster.PrepareJoin{Member: m, Heartbeat: protocol.NodePrefix + string(m) + "/1-0"})
	}
	for key, state := range map[string]string{"a": "live", "b": "fenced"} {
		text := fmt.Sprintf(`{"state":%q,"member":%q,"at_ms":%d,"ttl_ms":10000}`, state, key, time.Now().UnixMilli())
		if _, err := docs.Put(t.Context(),
			store.Doc{Key: protocol.NodePrefix + key + "/1-0", Value: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	sight := must.Get(view.NewLookout(docs, func() protocol.Instant { return 1 }).Look(t.Context(), f.v))(t)
	members := sight.Members()
	got := ""
	for _, m := range members {
		got += m.Member + ":"
		if m.Heartbeat != nil {
			got += m.Heartbeat.State
		}
		got += " "
	}
	if want := "a:" + view.HeartbeatPresent + " b:" + view.HeartbeatGone + " c:" + view.HeartbeatGone +
		" "; got != want {
		t.Errorf("heartbeats %q, want %q", got, want)
	}
}

// asking counts what is asked of a store.
type asking struct {
	store.Docs
	gets, lists int
	away        error // what a Get is answered
}

func (a *asking) Get(ctx context.Context, key string) (store.Doc, error) {
	if a.gets++; a.away != nil {
		return store.Doc{}, a.away
	}
	return a.Docs.Get(ctx, key)
}

func (a *asking) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	a.lists++
	docs, err := a.Docs.List(ctx, prefix)
	return slices.DeleteFunc(docs, func(d store.Doc) bool { return d.Key == "pulse/c" }), err // it lags
}

// TestALookListsOnce: heartbeats are not read one by one, but for those that a list has not.
func TestALookListsOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, m := range []string{"a", "b", "c"} {
		s.beat(m, 0)
	}
	a := &asking{Docs: s.docs}
	sight, err := view.NewLookout(a, func() protocol.Instant { return 1 }).Look(t.Context(), s.v)
	if err != nil || a.gets != 1 || a.lists != 2 {
		t.Errorf("%d reads and %d lists, %v; want one read of what is missing, and lists of heartbeats and of what fails", a.gets, a.lists, err)
	}
	n := 0
	for m, h := range sight.Heartbeats() {
		if n++; h.State != view.HeartbeatPresent {
			t.Errorf("%s is %s", m, h.State)
		}
	}
	if n != 3 {
		t.Errorf("%d heartbeats of 3 members", n)
	}
	a.away = store.ErrUnavailable
	if _, err := view.NewLookout(a, protocol.Now).Look(t.Context(), s.v); !errors.Is(err, a.away) {
		t.Errorf("where the store does not answer nobody is dead: %v", err)
	}
}
