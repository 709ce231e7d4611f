package cluster

import (
	"fmt"
	"reflect"

	"github.com/rota-run/rota/internal/schedule"
)

// choices turns bytes into decisions, so that a fuzzer and a property draw from the same well. When they run out every
// choice is the first.
type choices struct{ data []byte }

func (c *choices) n(below int) int {
	if len(c.data) == 0 || below < 2 {
		return 0
	}
	b := int(c.data[0])
	c.data = c.data[1:]
	return b % below
}

func (c *choices) bool() bool { return c.n(2) == 1 }

func pick[T any](c *choices, list ...T) T { return list[c.n(len(list))] }

// The largest value of each type that is a choice of a few.
var choiceTypes = map[reflect.Type]int{
	reflect.TypeFor[Spread]():                 int(SpreadPool),
	reflect.TypeFor[Handover]():               int(HandoverFast),
	reflect.TypeFor[Outcome]():                int(OutcomeFailed),
	reflect.TypeFor[Placement]():              int(PlacementShared),
	reflect.TypeFor[schedule.TaskScheduler](): int(schedule.TasksPercentage),
}

// filled returns a command of the kind of sample with something in each of its fields, so that a field that is added
// and not encoded is noticed.
func (c *choices) filled(sample Command) Command {
	v := reflect.New(reflect.TypeOf(sample)).Elem()
	c.fill(v)
	return v.Interface().(Command)
}

func (c *choices) fill(v reflect.Value) {
	if top, ok := choiceTypes[v.Type()]; ok {
		v.SetUint(uint64(c.n(top + 1)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(c.text())
	case reflect.Bool:
		v.SetBool(c.bool())
	case reflect.Int64:
		v.SetInt(pick[int64](c, 1, 0, -1, 100, 1<<31, -1<<63, 1<<63-1))
	case reflect.Uint32:
		v.SetUint(pick[uint64](c, 1, 0, 2, 1<<32-1))
	case reflect.Uint64:
		v.SetUint(pick[uint64](c, 1, 0, 127, 128, 1<<40, 1<<64-1))
	case reflect.Uint8:
		v.SetUint(uint64(c.n(256)))
	case reflect.Slice:
		c.fillSlice(v)
	case reflect.Struct:
		for i := range v.NumField() {
			c.fill(v.Field(i))
		}
		c.tidy(v)
	default:
		panic(fmt.Sprintf("no generator for %s", v.Type()))
	}
}

func (c *choices) text() string {
	return pick(c, "a", "", "é\x00\n\"", "a/b#c", string(make([]byte, 200)), "rota.x")
}

func (c *choices) fillSlice(v reflect.Value) {
	n := pick(c, 1, 0, 2, 3)
	if n == 0 {
		return // the decoder makes no empty lists
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		c.fill(v.Index(i))
	}
}

// tidy takes back what no command may say: it is not encoded.
func (c *choices) tidy(v reflect.Value) {
	if t, ok := v.Addr().Interface().(*TaskSpec); ok && t.Spread != SpreadPool {
		t.Min, t.Max, t.Percent = 0, 0, 0
	}
}
