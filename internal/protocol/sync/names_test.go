package sync

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var writeNames = flag.Bool("write-names", false, "write testdata/names; a name that changes there breaks every topic that exists")

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
		if err := os.WriteFile("testdata/names", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/names")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range strings.Fields(string(want)) {
		if !all[n] {
			t.Errorf("records no longer have the name %s: give the field a json tag", n)
		}
	}
	if string(want) != got && !t.Failed() {
		t.Error("there are names that testdata/names lacks: run with -write-names")
	}
}
