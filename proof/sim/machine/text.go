package machine

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
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
	return textOf(v.Type())(append(b, v.Type().Name()...), v, how{})
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
	v := reflect.ValueOf(x)
	return append(textOf(v.Type())(b, v, how{names, skip}), ' ')
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

// writer appends a value of one type.
type writer func([]byte, reflect.Value, how) []byte

// writers are those that were made so far, by type.
// read-only: a memo; a type has one writer, wherever it is made.
var writers sync.Map

func textOf(t reflect.Type) writer {
	if w, ok := writers.Load(t); ok {
		return w.(writer)
	}
	w := newWriter(t)
	writers.Store(t, w)
	return w
}

func newWriter(t reflect.Type) writer {
	switch t {
	case reflect.TypeFor[cluster.Value]():
		return writeValue
	case reflect.TypeFor[time.Time]():
		return func(b []byte, v reflect.Value, _ how) []byte {
			return strconv.AppendInt(b, v.Interface().(time.Time).UnixNano(), 10)
		}
	case reflect.TypeFor[cluster.Index]():
		return func(b []byte, v reflect.Value, h how) []byte {
			if h.names == nil {
				return strconv.AppendUint(b, v.Uint(), 10)
			}
			return strconv.AppendUint(b, h.names.Index(cluster.Index(v.Uint())), 10)
		}
	case reflect.TypeFor[store.Version]():
		return func(b []byte, v reflect.Value, h how) []byte {
			if h.names == nil {
				return append(length(b, v.Len()), v.String()...)
			}
			return h.names.Version(b, v.String())
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(b []byte, v reflect.Value, _ how) []byte { return strconv.AppendBool(b, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value, _ how) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value, _ how) []byte { return strconv.AppendUint(b, v.Uint(), 10) }
	case reflect.Float32, reflect.Float64:
		return func(b []byte, v reflect.Value, _ how) []byte { return strconv.AppendFloat(b, v.Float(), 'g', -1, 64) }
	case reflect.String:
		return func(b []byte, v reflect.Value, _ how) []byte { return append(length(b, v.Len()), v.String()...) }
	case reflect.Slice, reflect.Array:
		return listWriter(t)
	case reflect.Struct:
		return structWriter(t)
	case reflect.Pointer:
		return func(b []byte, v reflect.Value, h how) []byte {
			if v.IsNil() {
				return append(b, "nil"...)
			}
			return textOf(t.Elem())(b, v.Elem(), h)
		}
	case reflect.Interface:
		return writeInterface
	case reflect.Map:
		return writeMap
	}
	return func([]byte, reflect.Value, how) []byte {
		panic(fmt.Sprintf("machine: nobody can say what is in a %s", t)) // a new event, effect or state has one
	}
}

// length begins a text of so many bytes: none can be taken for two.
func length(b []byte, n int) []byte { return append(strconv.AppendInt(b, int64(n), 10), '"') }

func listWriter(t reflect.Type) writer {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return func(b []byte, v reflect.Value, _ how) []byte { return append(length(b, v.Len()), v.Bytes()...) }
	}
	return func(b []byte, v reflect.Value, h how) []byte {
		b, one := append(b, '['), textOf(t.Elem())
		for i := range v.Len() {
			b = append(one(b, v.Index(i), h), ' ')
		}
		return append(b, ']')
	}
}

// structWriter leaves out of a text what an effect keeps for its answer: the events before it have said that.
func structWriter(t reflect.Type) writer {
	type field struct {
		name, full string
		kept       bool
		write      writer
	}
	fields := make([]field, t.NumField())
	for i := range fields {
		f := t.Field(i)
		kept := !f.IsExported() && (f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Interface)
		fields[i] = field{f.Name + ":", t.Name() + "." + f.Name, kept, textOf(f.Type)}
	}
	return func(b []byte, v reflect.Value, h how) []byte {
		b = append(b, '{')
		for i := range fields {
			of, f := &fields[i], v.Field(i)
			empty := h.names != nil && (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0 // to a key it is as nil is
			if f.IsZero() || empty || slices.Contains(h.skip, of.full) {
				continue
			}
			if b = append(b, of.name...); of.kept && h.names == nil {
				b = append(b, "kept"...)
			} else {
				b = of.write(b, f, h)
			}
			b = append(b, ' ')
		}
		return append(b, '}')
	}
}

func writeValue(b []byte, v reflect.Value, h how) []byte {
	if h.names != nil {
		return b
	}
	return AppendValue(b, v.Interface().(cluster.Value))
}

// AppendValue names a value by its digests: they cover all of it.
func AppendValue(b []byte, v cluster.Value) []byte {
	b = append(strconv.AppendUint(b, uint64(v.Index()), 10), '/')
	b = append(strconv.AppendUint(b, uint64(v.Chain()), 16), '/')
	return strconv.AppendUint(b, uint64(v.Digest()), 16)
}

func writeInterface(b []byte, v reflect.Value, h how) []byte {
	if v.IsNil() {
		return append(b, "nil"...)
	}
	if v.CanInterface() {
		if err, ok := v.Interface().(error); ok {
			text := err.Error()
			return append(length(b, len(text)), text...)
		}
	}
	of := v.Elem()
	return textOf(of.Type())(append(b, of.Type().Name()...), of, h)
}

func writeMap(b []byte, v reflect.Value, h how) []byte {
	all := make([]string, 0, v.Len())
	for i := v.MapRange(); i.Next(); { // order-free: sorted below
		one := append(textOf(v.Type().Key())(nil, i.Key(), h), ':')
		all = append(all, string(textOf(v.Type().Elem())(one, i.Value(), h)))
	}
	slices.SortFunc(all, cmp.Compare[string])
	b = append(b, '{')
	for _, one := range all {
		b = append(append(b, one...), ' ')
	}
	return append(b, '}')
}
