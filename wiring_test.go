package rota

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// fill gives every field that has none yet a value of its own.
func fill(v reflect.Value, next *int) {
	*next++
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case !v.IsZero():
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("text%d", *next))
	case v.CanInt():
		v.SetInt(int64(*next))
	case v.CanUint():
		v.SetUint(1) // a choice
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case v.Kind() == reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case v.Kind() == reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("it is not called") }))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	}
}

// nobody guards nothing.
type nobody struct{}

func (nobody) Guard(store.EndKey)   {}
func (nobody) Release(store.EndKey) {}
func (nobody) State() string        { return "on" }

// What a config says reaches the member that it makes: no option is forgotten on the way.
func TestEveryOptionReachesTheNode(t *testing.T) {
	t.Parallel()
	c, n := Config{Store: memory.New().Open(), Protocol: replica.Protocol{}, Guard: nobody{},
		Publisher: struct{ Publisher }{}}, 0
	fill(reflect.ValueOf(&c).Elem(), &n)
	in, out := reflect.ValueOf(c), reflect.ValueOf(c.node(work.Types{"x": {}}, func() {}))
	for i := range in.NumField() {
		name := in.Type().Field(i).Name
		got := out.FieldByName(name)
		if !got.IsValid() || got.IsZero() {
			t.Errorf("the node is not told %s", name)
		} else if name != "Types" && name != "Events" && fmt.Sprint(got) != fmt.Sprint(in.Field(i)) {
			t.Errorf("%s: %v, want %v", name, got, in.Field(i))
		}
	}
}

// A bound is the last that is allowed.
func TestBoundsOfAConfig(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	f := NewFunc("f", func(context.Context, int) (int, error) { return 0, nil })
	for i, c := range []struct {
		config Config
		ok     bool
	}{
		{Config{TTL: 300 * time.Millisecond}, true}, {Config{TTL: 299 * time.Millisecond}, false},
		{Config{TTL: 24 * time.Hour}, true}, {Config{TTL: 24*time.Hour + 1}, false},
		{Config{Hold: time.Hour}, true}, {Config{Hold: time.Hour + 1}, false}, {Config{Hold: -1}, false},
		{Config{Functions: []Function{f}}, false}, {Config{Functions: []Function{f}, Slots: 1}, true},
		{Config{Weight: -1}, false}, {Config{Capacity: -1}, false}, {Config{Slots: -1}, false},
		{Config{ResultRetention: -1}, false}, {Config{DrainTimeout: -1}, false},
		{Config{Broker: Broker{Place: "there"}}, false}, {Config{Broker: Broker{Queue: s}}, false},
	} {
		c.config.Member, c.config.Store = "a", s
		if err := c.config.Validate(); (err == nil) != c.ok {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

// What cannot be read is not taken for a new state, however short it is.
func TestAStateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if n, err := stateOf(codecOf[int](nil), nil); err != nil || n != 0 {
		t.Errorf("nothing: %d, %v", n, err)
	}
	if _, err := stateOf(codecOf[int](nil), []byte("{")); err == nil {
		t.Error("half a state is taken for one")
	}
}

// What a task says stands in its definition, as a task file has it.
func TestEveryFieldOfATaskIsDefined(t *testing.T) {
	t.Parallel()
	task, n := Task{Config: "config"}, 0
	fill(reflect.ValueOf(&task).Elem(), &n)
	got, err := json.Marshal(task.definition())
	must.Succeed(t, err)
	const want = `{"type":"text2","every":"4ns","cron":"text5","time_zone":"text6","catch_up":"text7","timeout":"8ns",` +
		`"spread":"every","partitions":["text11"],"handover":"no-gap","labels":{"key":"text14"},"spread_over":"text15",` +
		`"pin":"text16","stay":true,"tags":{"key":"text19"},"weight":20,"min":21,"max":22,"repartition":true,` +
		`"retry":{"min":"24ns","max":"25ns","attempts":26},"on_store_loss":"text27","config":"config"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Slots that a task needs are covered or it waits, and its version is the text of the number.
func TestSpecOfATask(t *testing.T) {
	t.Parallel()
	types := work.Types{"x": {Name: "x", New: func(work.Definition) (work.Runner, error) { return nil, nil }}} //nolint:nilnil // it is never run
	for _, c := range []struct {
		task     Task
		version  string
		coverage bool
	}{
		{Task{Type: "x"}, "", false},
		{Task{Type: "x", Version: 1, Spread: Pool, MinSlots: 1}, "1", true},
		{Task{Type: "x", Version: 12, Spread: Pool, MaxSlots: 1}, "12", false},
	} {
		s, err := c.task.spec("job", types)
		if err != nil || s.Version != c.version || s.Coverage != c.coverage {
			t.Errorf("%+v: version %q, coverage %t, %v", c.task, s.Version, s.Coverage, err)
		}
	}
	if _, err := (Task{Type: "x", Version: -1}).spec("job", types); err == nil {
		t.Error("a version below 0 is taken")
	}
}
