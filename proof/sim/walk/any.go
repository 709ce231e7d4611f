package walk

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Any appends everything that a value holds, with indexes by their rank. A field whose type and name skip lists is left out: what it
// says must follow from the rest, or decide nothing.
func (n *Names) Any(b []byte, x any, skip ...string) []byte {
	return n.reflected(b, reflect.ValueOf(x), skip)
}

// read-only: types that are named by more than their kind.
var (
	indexType   = reflect.TypeFor[cluster.Index]()
	valueType   = reflect.TypeFor[cluster.Value]()
	versionType = reflect.TypeFor[store.Version]()
)

func (n *Names) reflected(b []byte, v reflect.Value, skip []string) []byte {
	switch v.Kind() {
	case reflect.Invalid:
		return append(b, 0)
	case reflect.Bool:
		return append(b, flag(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Type() == indexType {
			return binary.AppendUvarint(b, n.Index(cluster.Index(v.Uint())))
		}
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		if v.Type() == versionType {
			return n.version(b, v.String())
		}
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Slice, reflect.Array:
		b = binary.AppendUvarint(b, uint64(v.Len())) //nolint:gosec // a length
		for i := range v.Len() {
			b = n.reflected(b, v.Index(i), skip)
		}
		return b
	case reflect.Map:
		return n.entries(b, v, skip)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, 0)
		}
		return n.reflected(append(append(b, 1), v.Elem().Type().Name()...), v.Elem(), skip)
	case reflect.Struct:
		return n.fields(b, v, skip)
	}
	panic(fmt.Sprintf("the model has no name for a %s", v.Type()))
}

func (n *Names) fields(b []byte, v reflect.Value, skip []string) []byte {
	t := v.Type()
	if t == valueType {
		return b // the place in the log says which
	}
	if len(skip) == 0 {
		for i := range v.NumField() {
			b = n.reflected(b, v.Field(i), nil)
		}
		return b
	}
	for i, name := range namesOf(t) {
		if !slices.Contains(skip, name) {
			b = n.reflected(b, v.Field(i), skip)
		}
	}
	return b
}

var fieldNames sync.Map // read-only: a cache by type, since reflect allocates field names on each call

// namesOf are the fields of a struct as skip lists name them.
func namesOf(t reflect.Type) []string {
	if known, ok := fieldNames.Load(t); ok {
		return known.([]string)
	}
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Name() + "." + t.Field(i).Name
	}
	fieldNames.Store(t, names)
	return names
}

// entries appends a map, sorted by what its keys append.
func (n *Names) entries(b []byte, v reflect.Value, skip []string) []byte {
	var all []string
	for it := v.MapRange(); it.Next(); {
		all = append(all, string(n.reflected(n.reflected(nil, it.Key(), skip), it.Value(), skip)))
	}
	slices.Sort(all)
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, one := range all {
		b = append(b, one...)
	}
	return b
}
