package machine

import (
	"reflect"
	"strings"
	"sync"
)

// What decides a member's future is the business of its package, and nobody calls for it but a walk. So the packages of
// the protocols say nothing of keys: a key names the fields that it is made of by their paths.
//
// A path that leads nowhere, or to something of another type, panics: a field that was renamed is not left out in
// silence. A field that is new is in no key: who adds one to a state looks at the key of its protocol.

// Inside is the state of a member, or a part of one, with what its package keeps to itself. The keys of a walk are made of
// that, and nothing else looks at it.
type Inside struct{ v reflect.Value }

// Into looks into what a pointer points to.
func Into(p any) Inside { return Inside{reflect.ValueOf(p).Elem()} }

// At is a field by its path, as in "look.board.View". One that is not there any more is a fault of who asks.
func (i Inside) At(path string) Inside { return Inside{i.v.FieldByIndex(place(i.v.Type(), path))} }

// Any is what is there.
func (i Inside) Any() any {
	return reflect.NewAt(i.v.Type(), i.v.Addr().UnsafePointer()).Elem().Interface()
}

// Number is what a number says, whatever its type.
func (i Inside) Number() uint64 { return i.v.Uint() }

// List are the elements of a list.
func (i Inside) List() []Inside {
	out := make([]Inside, i.v.Len())
	for at := range out {
		out[at] = Inside{i.v.Index(at)}
	}
	return out
}

// Each calls do with what is in a sorted map, in order.
func (i Inside) Each(do func(key string, value any)) {
	each := reflect.NewAt(i.v.Type(), i.v.Addr().UnsafePointer()).MethodByName("Each")
	yield := func(in []reflect.Value) []reflect.Value {
		do(in[0].String(), in[1].Interface())
		return []reflect.Value{reflect.ValueOf(true)}
	}
	each.Call([]reflect.Value{reflect.MakeFunc(each.Type().In(0), yield)})
}

// Get is a field of a type that is known.
func Get[T any](i Inside, path string) T { return *Ref[T](i, path) }

// Ref points to it.
func Ref[T any](i Inside, path string) *T {
	f := i.At(path).v
	if f.Type() != reflect.TypeFor[T]() {
		panic("machine: " + path + " is a " + f.Type().String())
	}
	return (*T)(f.Addr().UnsafePointer())
}

// places are where fields are, by their struct and path.
// read-only: a memo; a field has one place, whoever looks for it.
var places sync.Map

type named struct {
	of   reflect.Type
	path string
}

func place(of reflect.Type, path string) []int {
	if at, ok := places.Load(named{of, path}); ok {
		return at.([]int)
	}
	var at []int
	t := of
	for name := range strings.SplitSeq(path, ".") {
		f, ok := t.FieldByName(name)
		if !ok {
			panic("machine: no " + name + " in " + t.String())
		}
		at, t = append(at, f.Index...), f.Type
	}
	places.Store(named{of, path}, at)
	return at
}
