package machine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// AppendText appends all that an event or an effect says: the name of its type and each field that is not zero. A type
// may move to another package, and get a field that is not used yet, and says the same as before.
func AppendText(b []byte, x any) []byte {
	if x == nil {
		return append(b, "nil"...)
	}
	v := reflect.ValueOf(x)
	return how{}.write(append(b, v.Type().Name()...), v)
}

// Names name what a key of a state must not spell out.
type Names interface {
	Index(i cluster.Index) uint64
	// Version appends the name of a version.
	Version(b []byte, v string) []byte
}

// AppendNamed appends all that a value holds, with the names for indexes and versions. A field whose type and name skip
// lists is left out, and so is a value of the cluster: the place in the log says which.
func AppendNamed(b []byte, x any, names Names, skip []string) []byte {
	return append(how{names, skip}.write(b, reflect.ValueOf(x)), ' ')
}

// how to append: with names, for a key, or all as it is.
type how struct {
	names Names
	skip  []string
}

// Short is how an event or an effect begins, on one line for people.
func Short(x any) string {
	b := AppendText(nil, x)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '.'
		}
	}
	return string(b[:min(len(b), 200)])
}

// write appends a value.
func (h how) write(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := v.Uint()
		if h.names != nil && v.Type() == reflect.TypeFor[cluster.Index]() {
			n = h.names.Index(cluster.Index(n))
		}
		return strconv.AppendUint(b, n, 10)
	case reflect.String:
		if h.names != nil && v.Type() == reflect.TypeFor[store.Version]() {
			return h.names.Version(b, v.String())
		}
		return append(length(b, v.Len()), v.String()...)
	case reflect.Slice, reflect.Array:
		return h.list(b, v)
	case reflect.Struct:
		return h.fields(b, v)
	case reflect.Pointer, reflect.Interface:
		return h.behind(b, v)
	case reflect.Map:
		return h.pairs(b, v)
	}
	panic(fmt.Sprintf("machine: nobody can say what is in a %s", v.Type())) // a new event, effect or state has one
}

// length begins a text of so many bytes: none can be taken for two.
func length(b []byte, n int) []byte { return append(strconv.AppendInt(b, int64(n), 10), '"') }

func (h how) list(b []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return append(length(b, v.Len()), v.Bytes()...)
	}
	b = append(b, '[')
	for i := range v.Len() {
		b = append(h.write(b, v.Index(i)), ' ')
	}
	return append(b, ']')
}

// field is one of a struct. A text has not what an effect keeps for its answer: the events before it have said that.
type field struct {
	name, full string
	kept       bool
}

// structs are the fields of the structs that were met so far, by type; nil of one that is written as a whole.
// read-only: a memo; a type has its fields, whoever looks.
var structs sync.Map

func fieldsOf(t reflect.Type) []field {
	if of, ok := structs.Load(t); ok {
		return of.([]field)
	}
	var of []field
	if t != reflect.TypeFor[cluster.Value]() && t != reflect.TypeFor[time.Time]() {
		of = make([]field, t.NumField())
	}
	for i := range of {
		f := t.Field(i)
		kept := !f.IsExported() && (f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Interface)
		of[i] = field{f.Name + ":", t.Name() + "." + f.Name, kept}
	}
	structs.Store(t, of)
	return of
}

func (h how) fields(b []byte, v reflect.Value) []byte {
	of := fieldsOf(v.Type())
	if of == nil {
		return h.whole(b, v.Interface())
	}
	b = append(b, '{')
	for i, of := range of {
		f := v.Field(i)
		empty := h.names != nil && (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0 // to a key it is as nil is
		if f.IsZero() || empty || slices.Contains(h.skip, of.full) {
			continue
		}
		if b = append(b, of.name...); of.kept && h.names == nil {
			b = append(b, "kept"...)
		} else {
			b = h.write(b, f)
		}
		b = append(b, ' ')
	}
	return append(b, '}')
}

func (h how) whole(b []byte, x any) []byte {
	switch x := x.(type) {
	case time.Time:
		return strconv.AppendInt(b, x.UnixNano(), 10)
	case cluster.Value:
		if h.names == nil {
			return AppendValue(b, x)
		}
	}
	return b
}

// AppendValue names a value by its digests: they cover all of it.
func AppendValue(b []byte, v cluster.Value) []byte {
	b = append(strconv.AppendUint(b, uint64(v.Index()), 10), '/')
	b = append(strconv.AppendUint(b, uint64(v.Chain()), 16), '/')
	return strconv.AppendUint(b, uint64(v.Digest()), 16)
}

// behind appends what a pointer or an interface holds. What hides behind an interface has the name of its type.
func (h how) behind(b []byte, v reflect.Value) []byte {
	of := v.Elem()
	switch {
	case v.IsNil():
		return append(b, "nil"...)
	case v.Kind() == reflect.Pointer:
		return h.write(b, of)
	case v.CanInterface():
		if err, ok := v.Interface().(error); ok {
			text := err.Error()
			return append(length(b, len(text)), text...)
		}
	}
	return h.write(append(b, of.Type().Name()...), of)
}

func (h how) pairs(b []byte, v reflect.Value) []byte {
	all := make([]string, 0, v.Len())
	for i := v.MapRange(); i.Next(); { // order-free: sorted below
		all = append(all, string(h.write(append(h.write(nil, i.Key()), ':'), i.Value())))
	}
	slices.Sort(all)
	b = append(b, '{')
	for _, one := range all {
		b = append(append(b, one...), ' ')
	}
	return append(b, '}')
}

// What decides a member's future is the business of its package, and nobody calls for it but a walk. So the packages of
// the protocols say nothing of keys: a key names the fields that it is made of by their paths.
//
// A path that leads nowhere, or to something of another type, panics: a field that was renamed is not left out in
// silence. A field that is new is in no key: who adds one to a state looks at the key of its protocol.

// Inside is the state of a member, or a part of one, with what its package keeps to itself. The keys of a walk are made
// of that, and nothing else looks at it.
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

// List are the elements of a list, or what they point to.
func (i Inside) List() []Inside {
	out := make([]Inside, i.v.Len())
	for at := range out {
		out[at] = Inside{reflect.Indirect(i.v.Index(at))}
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
