package sync

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
)

// drawn fills a value with what a record can say.
func drawn(t *rapid.T, v reflect.Value) {
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		v.SetUint(uint64(rapid.IntRange(0, 1).Draw(t, "choice")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringOf(rapid.RuneFrom([]rune("a/#é<\"\n"))).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "number") >> (64 - v.Type().Bits()))
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				drawn(t, v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			drawn(t, v.Field(i))
		}
	default:
		t.Fatalf("no generator for %s", v.Type())
	}
}

func drawnEntry(t *rapid.T) cluster.Entry {
	e := cluster.Entry{
		Writer: "web-1-ab", Seq: rapid.Uint64().Draw(t, "seq"),
		AtMS: rapid.Int64Range(0, lastMS).Draw(t, "at"), BaseIndex: cluster.Index(rapid.Uint64().Draw(t, "base")),
		BaseChain: cluster.Hash(rapid.Uint64().Draw(t, "chain")),
	}
	kinds := append(said(), cluster.Share{})
	for range rapid.IntRange(1, 5).Draw(t, "commands") {
		v := reflect.New(reflect.TypeOf(rapid.SampledFrom(kinds).Draw(t, "kind"))).Elem()
		drawn(t, v)
		e.Commands = append(e.Commands, v.Interface().(cluster.Command))
	}
	return e
}

// TestEveryRecordRoundTrips: a record says what its entry does, field by field, in the same order.
func TestEveryRecordRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := drawnEntry(rt)
		message, err := EncodeRecord(e, "1.4/web-1")
		if err != nil {
			rt.Fatal(err)
		}
		got, err := DecodeRecord(message)
		if err != nil || !bytes.Equal(got.Encode(), e.Encode()) {
			rt.Fatalf("wrote %+v\nas %s\nread %+v, %v", e, message, got, err)
		}
	})
}

// TestEveryCommandHasARecord: a command that is added to the language, and not to records, could not be said here.
func TestEveryCommandHasARecord(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range said() {
		names[reflect.TypeOf(c).Name()] = true
	}
	found := map[string]bool{}
	for tag := range 256 {
		body := append([]byte{0xE7, byte(cluster.Format), 1, 'w', 1, 0, 0, 0, 1, byte(tag)}, make([]byte, 40)...)
		for n := range body { // the fields of a command are zero, however many they are
			if e, err := cluster.DecodeEntry(1, body[:n]); err == nil && len(e.Commands) == 1 {
				found[reflect.TypeOf(e.Commands[0]).Name()] = true
			}
		}
	}
	for name := range found {
		if name != "Share" && !names[name] {
			t.Errorf("%s has no record", name)
		}
	}
	if len(found) < 20 {
		t.Fatalf("%d kinds of commands were found", len(found))
	}
}

// TestForeignRecords: what is no record is no entry, and another format is one that stops its reader.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	good, err := EncodeRecord(cluster.Entry{Writer: "w", Seq: 1, Commands: []cluster.Command{cluster.KillJob{Job: "x"},
		cluster.Share{Partition: "x", Token: 3, To: "b"}}}, "1.1/a")
	must.Succeed(t, err)
	for name, message := range map[string]string{
		"nothing":         "",
		"text":            "hello",
		"another record":  `{"a":1}`,
		"one of a format": `{"a":1,"format":99}`,
		"two states": strings.Replace(string(good), `"connectorState":[{`, `"connectorState":[{"taskID":"w"},{`,
			1),
		"others' state": strings.Replace(string(good), `"connectorState":[{"taskID":"w"`,
			`"connectorState":[{"taskID":"v"`, 1),
		"an unknown field": strings.Replace(string(good), `"job"`, `"jib"`, 1),
		"unknown command":  strings.Replace(string(good), `"killJob"`, `"killAll"`, 1),
		"a lost share":     strings.Replace(string(good), `"at":1`, `"at":7`, 1),
		"more after it":    string(good) + "{}",
		"no text":          string(good[:20]) + "\xff" + string(good[21:]),
		"an entry": string(cluster.Entry{Writer: "w", Seq: 1,
			Commands: []cluster.Command{cluster.KillJob{Job: "x"}}}.Encode()),
		"no time": strings.Replace(string(good), `"messageTimestamp":"1970`, `"messageTimestamp":"x1970`, 1),
	} {
		if message == string(good) {
			t.Errorf("%s: it is the good one", name)
		}
		if _, ok, err := (cluster.Value{}).Decode(1, Binary([]byte(message))); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	for _, format := range []string{"1", "99"} {
		other := strings.Replace(string(good), `"format":6`, `"format":`+format+`,"unknown":1`, 1)
		_, _, err := (cluster.Value{}).Decode(1, Binary([]byte(other)))
		if e, ok := errors.AsType[*cluster.FormatError](err); !ok || fmt.Sprint(e.Format) != format || e.Index != 1 {
			t.Errorf("format %s: %v", format, err)
		}
	}
	late := must.Get(EncodeRecord(cluster.Entry{Writer: "w", AtMS: lastMS + 1}, "none"))(t)
	if e, err := DecodeRecord(late); err != nil || e.AtMS != lastMS {
		t.Errorf("a time that cannot be written is read as %d, %v", e.AtMS, err)
	}
	if e, ok, err := (cluster.Value{}).Decode(1, Binary(good)); !ok || err != nil || len(e.Commands) != 2 {
		t.Errorf("%+v %v %v", e, ok, err)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, c := range append(said(), cluster.Share{Partition: "x", To: "b"}) {
		if message, err := EncodeRecord(cluster.Entry{Writer: "w", Seq: 1, Commands: []cluster.Command{c}},
			"none"); err == nil {
			f.Add(message)
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		e, err := DecodeRecord(message)
		if err != nil {
			return
		}
		again, err := EncodeRecord(e, "none")
		if err != nil {
			t.Fatalf("%q: %v", message, err)
		}
		if got, err := DecodeRecord(again); err != nil || !bytes.Equal(got.Encode(), e.Encode()) {
			t.Fatalf("%q is read as %+v, written as %s, and read as %+v, %v", message, e, again, got, err)
		}
		next, _ := (cluster.Value{}).Apply(e) // total
		_ = next.String()
	})
}
