package tasks

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/work"
)

// faults collects what is wrong with one definition, so that a person sees all of it at once.
type faults []error

// add notes that the field at path, below "config", is wrong.
func (f *faults) add(path, hint, format string, args ...any) {
	full := "config"
	if path != "" {
		full += "." + path
	}
	*f = append(*f, &work.ConfigError{Path: full, Hint: hint, Err: fmt.Errorf(format, args...)})
}

// err is nil, the one fault, or all of them joined.
func (f faults) err() error {
	if len(f) == 1 {
		return f[0]
	}
	return errors.Join(f...)
}

// typed is New of a type whose config is a C. New fails with all faults that build adds.
func typed[C any](
	build func(c C, d work.Definition, f *faults) work.Runner,
) func(work.Definition) (work.Runner, error) {
	return func(d work.Definition) (work.Runner, error) {
		var c C
		if err := decode(d, &c); err != nil {
			return nil, err
		}
		var f faults
		r := build(c, d, &f)
		if err := f.err(); err != nil {
			return nil, err
		}
		return r, nil
	}
}

// decode decodes the config of d into v, a pointer to a struct. Its error says which field is wrong, however deep, and
// what may have been meant.
func decode(d work.Definition, v any) error {
	err := work.DecodeConfig(d, v)
	if err == nil {
		return nil
	}
	if found := locate(d.Config, reflect.TypeOf(v).Elem(), "config"); found != nil {
		return found
	}
	return err
}

// locate finds the first wrong field, in the order of names. encoding/json does not say where an unknown field or a bad
// text is.
func locate(raw json.RawMessage, t reflect.Type, path string) *work.ConfigError {
	switch {
	case decodesItself(t):
		return leaf(raw, t, path)
	case t.Kind() == reflect.Struct:
		return locateField(raw, t, path)
	case t.Kind() == reflect.Slice:
		return locateItem(raw, t, path)
	}
	return leaf(raw, t, path)
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func leaf(raw json.RawMessage, t reflect.Type, path string) *work.ConfigError {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("want %s, got %s", plainName(te.Type), te.Value)
	}
	return &work.ConfigError{Path: path, Err: err}
}

// plainName is the name of a type for people who don't write Go.
func plainName(t reflect.Type) string {
	if t == reflect.TypeFor[*work.Duration]() { // json names what decodes itself by its pointer
		return `a duration such as "10s"`
	}
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint16:
		return "a whole number"
	}
	return t.String()
}

func locateField(raw json.RawMessage, t reflect.Type, path string) *work.ConfigError {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(raw, &have); err != nil {
		return leaf(raw, t, path)
	}
	known := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(have)) {
		f, ok := known[strings.ToLower(name)]
		if !ok {
			return &work.ConfigError{Path: path + "." + name, Err: errors.New("unknown field"),
				Hint: didYouMean(name, slices.Sorted(maps.Keys(known)))}
		}
		if found := locate(have[name], f, path+"."+name); found != nil {
			return found
		}
	}
	return nil
}

func locateItem(raw json.RawMessage, t reflect.Type, path string) *work.ConfigError {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return leaf(raw, t, path)
	}
	for i, item := range items {
		if found := locate(item, t.Elem(), path+"["+strconv.Itoa(i)+"]"); found != nil {
			return found
		}
	}
	return nil
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			out[name] = f.Type
		}
	}
	return out
}

// didYouMean suggests the nearest of the known names, or lists them.
func didYouMean(got string, known []string) string {
	best, at := "", len(got)/2+2
	for _, k := range known {
		if d := safetext.Distance(strings.ToLower(got), k); d < at {
			best, at = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known fields are " + strings.Join(known, ", ")
}
