package sync

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What every protocol promises, on memory and in virtual time. Storms are of calls that fail at random, in every way
// that a store has; a busy store cannot take as many heartbeats as the usual TTL asks for.
func TestStoriesOnMemory(t *testing.T) { t.Parallel(); protocoltest.StoriesOnMemory(t, Protocol{}) }
func TestStorm(t *testing.T)           { t.Parallel(); protocoltest.StormsOnMemory(t, Protocol{}, false) }
func TestWhatIsRefusedIsNotSaidForEver(t *testing.T) {
	t.Parallel()
	protocoltest.RefusedOnMemory(t, Protocol{})
}
func TestABusyStore(t *testing.T) {
	t.Parallel()
	protocoltest.Load{Beats: 8, Times: 3}.Busy(t, Protocol{})
}

// TestTimes: silence is noticed in time, and so on. The group alone says who lives, whatever the store tells of
// besides.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{"as etcd, NATS and ZooKeeper": 31.5})
}

// TestACopyIsRead: the log of a cluster was copied to a store without groups. It can be read there, and no member can
// take part.
func TestACopyIsRead(t *testing.T) {
	t.Parallel()
	copied := struct{ store.Full }{memory.New().Open()}
	var p protocol.Protocol = Protocol{}
	c := must.Get(p.Client(copied))(t)
	results, err := c.Propose(t.Context(),
		cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	if err != nil || !results[0].Accepted {
		t.Fatalf("%+v, %v", results, err)
	}
	v, err := p.Observe(t.Context(), copied, cluster.Value{})
	if _, ok := v.Job("x"); err != nil || !ok {
		t.Errorf("the job is there: %t, %v", ok, err)
	}
	if err := p.Fits(copied); err == nil {
		t.Error("a member could take part without a group")
	}
}

// held is a guardian's end that remembers what is to be ended.
type held map[string]bool

func (h held) Guard(k store.EndKey)   { h[k.Text] = true }
func (h held) Release(k store.EndKey) { delete(h, k.Text) }
func (held) State() string            { return "on" }

// places is a group that gives one place after the other.
type places struct {
	store.Group
	t     *testing.T
	guard held
	next  []string
	away  bool // nobody can leave
}

func (*places) EndPlace(id string) store.EndKey { return store.EndKey{Text: id} }

func (p *places) JoinGroup(_ context.Context, r store.JoinRequest) (store.Membership, error) {
	id := p.next[0]
	p.next = p.next[1:]
	r.Given(id)
	if !p.guard[id] {
		p.t.Errorf("the guardian knows of %v while %s waits for the others", p.guard, id)
	}
	return store.Membership{Seat: store.Seat{ID: id}}, nil
}

func (p *places) LeaveGroup(_ context.Context, id string) error {
	if !p.guard[id] {
		p.t.Errorf("the guardian does not know of %s any more, which has not left", id)
	}
	if p.away {
		return store.ErrUnavailable
	}
	return nil
}

// TestAGuardianHearsOfAPlace before the member waits for the others; then of the next one, and of the end, once the
// group has heard of it.
func TestAGuardianHearsOfAPlace(t *testing.T) {
	t.Parallel()
	h := held{}
	group := &places{t: t, guard: h, next: []string{"one", "two"}}
	c := &Caller{LogCaller: &shell.LogCaller{}, group: group}
	c.Logger = slog.New(slog.DiscardHandler)
	c.Guard, c.Now = h, func() protocol.Instant { return 1 }
	for _, want := range []string{"one", "two"} {
		ev, ok := c.Call(t.Context(), JoinGroup{Join: cluster.PrepareJoin{Member: "a"}}).(Joined)
		if !ok || ev.ID != want || !h[want] || len(h) != 1 {
			t.Errorf("joined %+v, and the guardian knows of %v", ev, h)
		}
	}
	group.away = true
	if c.Close(t.Context()); !h["two"] {
		t.Error("nobody knows of the place of a member that could not leave")
	}
	group.away = false
	if c.Close(t.Context()); h["two"] {
		t.Errorf("after the end the guardian knows of %v", h)
	}
}

var writeNames = flag.Bool("write-names", false,
	"write testdata/names; a name that changes there breaks every topic that exists")

// namesOf adds the names in records of a type: commands, and the fields of each.
func namesOf(t reflect.Type, path string, to map[string]bool) {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		namesOf(t.Elem(), path, to)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				namesOf(f.Type, path, to)
				continue
			}
			name := path + "." + lower(nameOf(f))
			to[name] = true
			namesOf(f.Type, name, to)
		}
	}
}

// TestNamesOfRecordsStay: the names in records follow those of Go, and must not change with them.
func TestNamesOfRecordsStay(t *testing.T) {
	all := map[string]bool{}
	for _, c := range said() {
		namesOf(reflect.TypeOf(c), lower(reflect.TypeOf(c).Name()), all)
	}
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	got := strings.Join(names, "\n") + "\n"
	if *writeNames {
		must.Succeed(t, os.WriteFile("testdata/names", []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile("testdata/names"))(t)
	for _, n := range strings.Fields(string(want)) {
		if !all[n] {
			t.Errorf("records no longer have the name %s: give the field a json tag", n)
		}
	}
	if string(want) != got && !t.Failed() {
		t.Error("there are names that testdata/names lacks: run with -write-names")
	}
}
