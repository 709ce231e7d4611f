package doclog

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestEntryComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := entry{
			kind: rapid.SampledFrom([]kind{kindRecord, kindSeed}).Draw(t, "kind"),
			name: rapid.StringMatching(`[a-z0-9.]{0,40}`).Draw(t, "name"),
			data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
		}
		index := rapid.Uint64Min(1).Draw(t, "index")
		b := e.encode(index)
		got, err := decodeEntry(index, b)
		if err != nil || got.kind != e.kind || got.name != e.name || !bytes.Equal(got.data, e.data) {
			t.Fatalf("%+v came back as %+v, %v", e, got, err)
		}
		if _, err := decodeEntry(index+1, b); !errors.Is(err, ErrDamaged) {
			t.Fatalf("at another index: %v", err)
		}
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := decodeEntry(index, b); !errors.Is(err, ErrDamaged) {
			t.Fatalf("a bit was changed: %v", err)
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(uint64(1), entry{kind: kindRecord, name: "a.1", data: []byte("x")}.encode(1))
	f.Add(uint64(1), []byte{'r', 255})
	f.Fuzz(func(t *testing.T, index uint64, b []byte) {
		e, err := decodeEntry(index, b)
		if err == nil && !bytes.Equal(e.encode(index), b) {
			t.Errorf("%q was read as %+v", b, e)
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", b, err)
		}
	})
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add([]byte(`{"format":1,"base":3,"freed":2,"snapshot":{"index":4,"name":"a","parts":1,"bytes":2,"sum":3}}`))
	f.Add([]byte(`{"format":1} x`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeMeta(again); err != nil || got != m {
			t.Errorf("%s was read as %+v, written as %s and read as %+v, %v", b, m, again, got, err)
		}
	})
}

// TestBadMeta holds states that no code of ours writes.
func TestBadMeta(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{}`, `{"format":0}`, `{"format":1,"freed":2,"base":1}`, `{"format":1} {}`, `{"format":1,"base":5,"snapshot":{"index":4,"name":"a"}}`,
		`{"format":1,"snapshot":{"index":4,"name":"a","parts":3,"bytes":2}}`, `{"format":1,"snapshot":{"index":4,"name":"a","parts":-1}}`,
	} {
		if m, err := decodeMeta([]byte(text)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s was read as %+v, %v", text, m, err)
		}
	}
	if _, err := decodeMeta([]byte(`{"format":2}`)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a newer format: %v", err)
	}
}
