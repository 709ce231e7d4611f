package journal

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzDecode: what the fast way reads is what package json reads, and it refuses what that refuses.
func FuzzDecode(f *testing.F) {
	gap := int64(-3)
	for _, records := range [][]Record{
		{},
		{{AtMS: 1, Kind: Moved, Partition: "a#b", From: "m1", To: "m2", Cause: "m1 is gone: ä", Token: 1 << 63, GapMS: &gap}},
		{{AtMS: -1, Kind: RunError, Member: "m", Message: "a \"quoted\" <text>\n"}, {Kind: Malformed, Storage: &Storage{Path: "p"}}},
	} {
		data, err := json.Marshal(records)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{`[{"at_ms":01}]`, `[{"at_ms":-}]`, `[{"at_ms":1.5}]`, `[{}]`, `[{"kind":"a"},]`, `[{"KIND":"a"}]`, `[{"token":-1}]`, "[{\"kind\":\"\x01\"}]", "[{\"kind\":\"\xff\"}]", `[{"token":1}]x`, `[{"kind":"a","kind":"b","at_ms":9223372036854775808}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := quick(data)
		if !ok {
			return
		}
		var want []Record
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nis read as %+v\nwant       %+v, %v", data, got, want, err)
		}
	})
}

// TestMovesAreReadFast: most records of a busy hour are moves, and none of them needs package json.
func TestMovesAreReadFast(t *testing.T) {
	gap := int64(12)
	data, err := json.Marshal([]Record{{AtMS: 1, Kind: Moved, Member: "m", Partition: "a#b", From: "m1", To: "m2", Cause: "m1 is gone", Token: 7, GapMS: &gap}, {AtMS: 2, Kind: TaskAdded, Partition: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := quick(data); !ok {
		t.Fatalf("%s is not read the fast way", data)
	}
}
